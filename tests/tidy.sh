#!/usr/bin/env bash
# Runs clang-tidy on the sources that changed since MASKCTL_TIDY_BASE, a commit (HEAD~1 when it is
# not set), uncommitted changes included, with the compile commands of BUILD: tidy.sh BUILD.
# At most 40 files, so that the time is bounded; says how many it left out.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 most=40
base=${MASKCTL_TIDY_BASE:-HEAD~1}
if ! git rev-parse -q --verify "$base^{commit}" >/dev/null; then
  [ -z "${MASKCTL_TIDY_BASE:-}" ] || { echo "MASKCTL_TIDY_BASE: no commit $base" >&2; exit 1; }
  base=$(git hash-object -t tree /dev/null) # no earlier commit here: everything is new
fi

mapfile -t files < <(git diff --name-only --diff-filter=d "$base" -- 'lib/*.cc' 'app/*.cc' 'tests/*.cc' ':!tests/package')
[ ${#files[@]} -gt 0 ] || exit 0
left=$((${#files[@]} > most ? ${#files[@]} - most : 0))
[ "$left" -eq 0 ] || echo "$left of ${#files[@]} changed files are left out"

# Clang cannot read headers that GCC precompiled, nor its parameters, and warns of other things. The 14 of
# Debian 12 cannot compile the ranges of its libstdc++; 16 can.
mkdir -p "$build/tidy"
sed -E 's/ -Winvalid-pch -include [^ ]+//; s/ --param=[^ ]+//; s/ -Werror / /' "$build/compile_commands.json" >"$build/tidy/compile_commands.json"
printf '%s\n' "${files[@]:0:most}" |
  xargs -P "$(nproc)" -n 2 clang-tidy-16 -p "$build/tidy" --quiet --extra-arg=-Wno-unknown-warning-option
