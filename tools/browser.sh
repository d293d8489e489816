#!/bin/sh
# Makes sure that a Chromium is there, and the one library that its driver wants and a bare Debian lacks: the tests open
# the HTML report in a real browser.
set -eu
need=""
command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 ||
  command -v google-chrome >/dev/null 2>&1 || need="chromium"
found=""
for one in /usr/lib/*/libatomic.so.1 /usr/lib64/libatomic.so.1 /usr/lib/libatomic.so.1; do
  [ ! -e "$one" ] || found=1
done
[ -n "$found" ] || ! command -v apt-get >/dev/null 2>&1 || need="$need libatomic1"
[ -n "$need" ] || exit 0
command -v apt-get >/dev/null 2>&1 || { echo "setup: install Chromium; the report's tests need it" >&2; exit 1; }
run=""
[ "$(id -u)" = 0 ] || run=sudo
$run apt-get update -qq
# shellcheck disable=SC2086 # the words of $need are package names
$run env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $need >/dev/null
