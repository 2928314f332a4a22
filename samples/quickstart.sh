#!/usr/bin/env bash
# Installs what is missing, builds the Release command and draws a sample: two documents packed
# into one row, each token seeing the last eight tokens of its own document.
set -euo pipefail
exec </dev/null
cd "$(dirname "$0")/.."

build=build/release
echo "maskctl: about 5 minutes of processor time where nothing is built yet, half of that on 2 cores."
echo "1. Packages of Debian that a build needs (tests/install-deps.sh); none where all are there."
bash tests/install-deps.sh
echo "2. The command and its manual pages, in $build; nothing outside this folder changes."
options=()
# A build folder that is already there keeps its options. The tests are all that may differ from
# tests/run.sh, which then compiles nothing of the library and the command again.
[ -f "$build/CMakeCache.txt" ] || options=(-DMASKCTL_TESTS=OFF)
cmake --preset release "${options[@]}" >/dev/null
NINJA_STATUS="[%f of %t, %es] " cmake --build "$build" --target maskctl_command maskctl_pages

command=$build/app/maskctl
echo "3. A sample."
show() {
  printf '\n$ maskctl %s\n' "$*"
  "$command" "$@"
}
show info samples/packed.npy --as segments
show show samples/packed.npy --as segments -t causal -t window:keys=8 --segments samples/packed.npy
show stats samples/packed.npy --as segments -t causal -t window:keys=8

printf '\nthe command: %s\n' "$PWD/$command"
