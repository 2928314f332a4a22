#!/usr/bin/env bash
# The module under the address sanitizer: tests/python/run_sanitized.sh build/asan build/release
# The second build has the command that answers are compared with.
set -euo pipefail
cd "$(dirname "$0")/../.."
export LD_PRELOAD ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc PYTHONPATH=$PWD/$1/python
export MASKCTL_PROGRAM=$PWD/$2/app/maskctl
LD_PRELOAD=$(gcc -print-file-name=libasan.so)
unset MALLOC_PERTURB_
/usr/bin/python3 -m pytest -q -p no:cacheprovider --rootdir=/ -c /dev/null -k "not ctrl_c and not copied_before" \
  tests/python/test_arrays.py tests/python/test_bad_input.py tests/python/test_commands.py
