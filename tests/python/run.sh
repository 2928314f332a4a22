#!/usr/bin/env bash
# The wheel of a build tree, installed into a venv as users have it, and its tests:
#   tests/python/run.sh build/release
# numpy and pytest are Debian's. Nothing is compiled that the tree has not compiled.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1 out=$1/wheel

rm -rf "$out"
build/venv/bin/pip wheel -q . --no-deps --no-build-isolation -w "$out" --config-settings=build-dir="$build" \
  --config-settings=cmake.define.MASKCTL_TESTS=ON --config-settings=cmake.define.MASKCTL_WERROR=ON
PATH=$PWD/build/venv/bin:$PATH build/venv/bin/auditwheel repair "$out"/maskctl-*.whl -w "$out/bundled" 2>/dev/null
wheel=("$out"/bundled/maskctl-*.whl)
bytes=$(stat -c %s "${wheel[0]}")
echo "$(basename "${wheel[0]}"): $((bytes >> 10)) KiB"
[ "$bytes" -le $((15 << 20)) ]

/usr/bin/python3 -m venv --system-site-packages "$out/venv"
"$out/venv/bin/pip" install -q --no-index --no-deps "${wheel[0]}"
export PATH=$PWD/$out/venv/bin:$PATH
cd "$out"  # the package of the sources is not what is imported
run() { python -m pytest -q -p no:cacheprovider --rootdir=/ -c /dev/null "$@"; }
run ../../../tests/python
PYTHONMALLOC=debug run ../../../tests/python/test_arrays.py ../../../tests/python/test_bad_input.py
maskctl --version
no_packages() { local PATH=$1:$PATH; bash ../../../tests/install-deps.sh --missing; }
mkdir -p lacks && printf '#!/bin/sh\nexit 1\n' >lacks/dpkg-query && chmod +x lacks/dpkg-query
[[ "$(no_packages "$PWD/lacks")" == *" libfmt-dev "*" python3-dev" ]]
test -s venv/share/man/man1/maskctl.1.gz
