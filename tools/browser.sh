#!/bin/sh
# Makes sure that a Chromium is there: the tests open the HTML report in a real browser.
set -eu
if command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1; then
  exit 0
fi
command -v apt-get >/dev/null 2>&1 || { echo "setup: install Chromium; the report's tests need it" >&2; exit 1; }
run=""
[ "$(id -u)" = 0 ] || run=sudo
$run apt-get update -qq
$run env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
