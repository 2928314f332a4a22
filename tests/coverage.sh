#!/usr/bin/env bash
# Measures which lines and branches of the library the tests of its layers reach:
#   tests/coverage.sh [--build FOLDER] [--jobs N] [LAYER...]
# Builds the test programs of the layers (all from base to translate) with GCC's counters into FOLDER
# (build/coverage), runs each once, and prints a row for each of these folders of lib/maskctl. Branches
# that only exceptions take do not count. gcovr is taken from PATH, or installed into
# build/venv-coverage. Takes about 15 processor minutes to build. Exit 1 if a test fails.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=build/coverage jobs=$(nproc) layers=()
usage() { sed -n '2,3s/^# *//p' "$0" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case $1 in
    --build) folder=${2:?}; shift ;;
    --jobs) jobs=${2:?}; shift ;;
    -*) usage ;;
    *) layers+=("$1") ;;
  esac
  shift
done
[ ${#layers[@]} -gt 0 ] || layers=(base tensor mask inspect io render attention kernels pipeline verify kit translate)

gcovr=$(command -v gcovr || true)
if [ -z "$gcovr" ]; then
  gcovr=build/venv-coverage/bin/gcovr
  [ -x $gcovr ] || { /usr/bin/python3 -m venv build/venv-coverage && build/venv-coverage/bin/pip install -q gcovr; }
fi

cmake -S . -B "$folder" -G Ninja -DMASKCTL_TESTS=ON -DMASKCTL_MPI=OFF -DMASKCTL_TUI=OFF -DCMAKE_BUILD_TYPE=Coverage \
  -DCMAKE_CXX_FLAGS_COVERAGE="-O1 -g0 -DNDEBUG --coverage" >/dev/null
cmake --build "$folder" -j "$jobs" --target "${layers[@]/%/_tests}"
find "$folder" -name '*.gcda' -delete

status=0
for layer in "${layers[@]}"; do
  "$folder/tests/${layer}_tests" >"$folder/$layer.log" 2>&1 || { status=1; tail -n 5 "$folder/$layer.log" >&2; }
done

"$gcovr" --root . --object-directory "$folder" --filter 'lib/maskctl/' --exclude-throw-branches --exclude-unreachable-branches \
  --gcov-ignore-parse-errors=negative_hits.warn_once_per_file \
  --gcov-ignore-parse-errors=suspicious_hits.warn_once_per_file --merge-mode-functions=merge-use-line-min -j "$jobs" \
  --json-summary "$folder/summary.json" "$folder" >/dev/null
/usr/bin/python3 - "$folder/summary.json" "${layers[@]}" <<'PYTHON'
import collections, json, sys

reached = collections.defaultdict(lambda: [0] * 4)
for file in json.load(open(sys.argv[1]))["files"]:
    counts = [file[name] for name in ("line_covered", "line_total", "branch_covered", "branch_total")]
    layer = file["filename"].split("/")[2]
    for layer in (layer, "all") if layer in sys.argv[2:] else ():
        reached[layer] = [a + b for a, b in zip(reached[layer], counts)]
for layer, (lines, all_lines, branches, all_branches) in sorted(reached.items(), key=lambda row: (row[0] == "all", row[0])):
    print(f"{layer:<12}{lines:>7} of {all_lines:>6} lines ({100 * lines / max(1, all_lines):.1f} %), "
          f"{branches:>6} of {all_branches:>6} branches ({100 * branches / max(1, all_branches):.1f} %)")
PYTHON
exit $status
