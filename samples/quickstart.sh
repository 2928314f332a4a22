#!/usr/bin/env bash
# Installs what is missing, builds the Release command and draws a sample: two documents packed
# into one row, each token seeing the last eight tokens of its own document.
set -euo pipefail
exec </dev/null
cd "$(dirname "$0")/.."

bash tests/install-deps.sh
build=build/release
options=()
# A build folder that is already there keeps its options. The tests are all that may differ from
# tests/run.sh, which then compiles nothing of the library and the command again.
[ -f "$build/CMakeCache.txt" ] || options=(-DMASKCTL_TESTS=OFF)
cmake --preset release "${options[@]}" >/dev/null
cmake --build "$build" --target maskctl_command maskctl_pages

command=$build/app/maskctl
show() {
  printf '\n$ maskctl %s\n' "$*"
  "$command" "$@"
}
show info samples/packed.npy --as segments
show show samples/packed.npy --as segments -t causal -t window:keys=8 --segments samples/packed.npy
show stats samples/packed.npy --as segments -t causal -t window:keys=8

printf '\nthe command: %s\n' "$PWD/$command"
