#!/usr/bin/env bash
# Runs clang-tidy, with the compile commands of BUILD, on the sources that have changed since the
# commit MASKCTL_TIDY_BASE (HEAD~1 by default), committed or not: tidy.sh BUILD.
# Takes at most 40 files, to bound the time, and prints how many it left out.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 most=40
base=${MASKCTL_TIDY_BASE:-HEAD~1}
if ! git rev-parse -q --verify "$base^{commit}" >/dev/null; then
  [ -z "${MASKCTL_TIDY_BASE:-}" ] || { echo "MASKCTL_TIDY_BASE: no commit $base" >&2; exit 1; }
  base=$(git hash-object -t tree /dev/null)  # no earlier commit: all files are new
fi

mapfile -t files < <(git diff --name-only --diff-filter=d "$base" -- 'lib/*.cc' 'app/*.cc' 'tests/*.cc' ':!tests/package')
[ ${#files[@]} -gt 0 ] || exit 0
left=$((${#files[@]} > most ? ${#files[@]} - most : 0))
[ "$left" -eq 0 ] || echo "$left of ${#files[@]} changed files are left out"

# Clang cannot read GCC's precompiled headers and parameters, and has other warnings. Version 14 of
# Debian 12 cannot compile the ranges of Debian's libstdc++; version 16 can.
mkdir -p "$build/tidy"
sed -E 's/ -Winvalid-pch -include [^ ]+//; s/ --param=[^ ]+//; s/ -Werror / /' "$build/compile_commands.json" >"$build/tidy/compile_commands.json"
printf '%s\n' "${files[@]:0:most}" |
  xargs -P "$(nproc)" -n 2 clang-tidy-16 -p "$build/tidy" --quiet --extra-arg=-Wno-unknown-warning-option \
    --extra-arg=-Wno-ignored-optimization-argument
