#!/bin/sh
# Sets up .venv with everything the project needs, on a bare Debian 12 as well.
set -eu
cd "$(dirname "$0")/.."

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null 2>&1; then sudo "$@"; else
    echo "setup: this needs root: $*" >&2; exit 1
  fi
}

find_python() {
  for name in ${PYTHON:-} python3.11 python3.12 python3.13 python3; do
    if command -v "$name" >/dev/null 2>&1 &&
      "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
      echo "$name"; return
    fi
  done
}

python=$(find_python)
# Debian's Python comes without ensurepip, which a virtual environment needs.
if [ -z "$python" ] || ! "$python" -c 'import ensurepip' >/dev/null 2>&1; then
  command -v apt-get >/dev/null 2>&1 || { echo "setup: Python 3.11 or newer with venv is needed" >&2; exit 1; }
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3 python3-venv ca-certificates >/dev/null
  python=$(find_python)
fi

[ -x .venv/bin/python ] || "$python" -m venv .venv
pip=".venv/bin/python -m pip"
if ! $pip --version >/dev/null 2>&1; then .venv/bin/python -m ensurepip >/dev/null; fi
echo "setup: installing (about a minute the first time)"
$pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
$pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
.venv/bin/ragassay --version
