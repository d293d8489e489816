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
pip=".venv/bin/python -m pip -q --disable-pip-version-check"
if ! $pip --version >/dev/null 2>&1; then .venv/bin/python -m ensurepip >/dev/null; fi

# uv installs in a minute what takes pip five, and on a slow machine more than an hour. pip knows the mirrors of its own
# settings, of which uv reads none: it has the second try.
install() {
  { [ -x .venv/bin/uv ] && .venv/bin/uv pip install -q --python .venv/bin/python "$@"; } || $pip install --no-compile "$@"
}

echo "setup: installing (about a minute the first time)"
$pip install --no-compile --require-hashes -r tools/uv.lock || echo "setup: no uv here, going on with pip" >&2
install --require-hashes -r requirements.lock
install --no-deps --no-build-isolation -e .

# One row judged: it shows that the main job works, and leaves the byte code of what it imports, also where the
# environment forbids byte code. Without it each command would compile those packages again.
check=$(mktemp -d)
trap 'rm -rf "$check"' EXIT
echo '{"question": "How long is it?", "contexts": ["It is 27 km long."], "response": "It is 27 km long."}' >"$check/row.jsonl"
PYTHONDONTWRITEBYTECODE="" RAGASSAY_STORE="$check/store" .venv/bin/ragassay evaluate "$check/row.jsonl" >"$check/printed" 2>&1 ||
  { cat "$check/printed" >&2; exit 1; }
.venv/bin/ragassay --version
