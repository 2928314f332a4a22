#!/usr/bin/env bash
# Makes a wheel to distribute, with the libraries that it needs and their licences, in
# BUILD/wheel/bundled:
#   tests/install-deps.sh --python --venv
#   tests/python/make_wheel.sh BUILD
# An existing build tree keeps its options, and compiles only what is out of date.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1 out=$1/wheel

settings=(--config-settings=build-dir="$build")
while IFS='=' read -r name value; do
  case $name in
    CMAKE_BUILD_TYPE:*) settings+=(--config-settings=cmake.build-type="$value") ;;
    MASKCTL_TESTS:* | MASKCTL_WERROR:*) settings+=(--config-settings="cmake.define.${name%:*}=$value") ;;
  esac
done < <(cat "$build/CMakeCache.txt" 2>/dev/null)
rm -rf "$out"
build/venv/bin/pip wheel -q . --no-deps --no-build-isolation -w "$out" "${settings[@]}"
PATH=$PWD/build/venv/bin:$PATH build/venv/bin/auditwheel repair "$out"/maskctl-*.whl -w "$out/bundled" 2>/dev/null
wheel=("$out"/bundled/maskctl-*.whl)
bytes=$(stat -c %s "${wheel[0]}")
echo "${wheel[0]}: $((bytes >> 10)) KiB"
[ "$bytes" -le $((15 << 20)) ]
