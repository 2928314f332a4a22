#!/usr/bin/env bash
# Tests the module with the address sanitizer: tests/python/run_sanitized.sh build/asan
# build/release
# The second build has the command, whose answers are compared, and the helper for HDF5.
set -euo pipefail
cd "$(dirname "$0")/../.."
# The helper limits its own memory, with which sanitizers cannot run: takes that of the second
# build.
helper=$1/python/maskctl/maskctl-hdf5
rm -f "$helper"
printf '#!/bin/sh\nunset LD_PRELOAD\nexec "%s" "$@"\n' "$PWD/$2/app/maskctl-hdf5" >"$helper"
chmod +x "$helper"
export LD_PRELOAD ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc PYTHONPATH=$PWD/$1/python
export MASKCTL_PROGRAM=$PWD/$2/app/maskctl
# The sanitizer's library must be loaded first, and needs libstdc++ to find __cxa_throw when it
# starts.
LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libstdc++.so.6)"
unset MALLOC_PERTURB_
# GCC 12's sanitizer does not take its allocator's locks before a fork: where other threads
# allocate, a child may wait for ever. Tests of memory use are left out too.
unjudged="not copied_before and not forks_work_while_other_threads and not print_nothing_at_exit"
/usr/bin/python3 -m pytest -q -p no:cacheprovider --rootdir=/ -c /dev/null -k "$unjudged" \
  tests/python/test_arrays.py tests/python/test_bad_input.py tests/python/test_commands.py \
  tests/python/test_every_verb.py tests/python/test_laws.py tests/python/test_producers.py \
  tests/python/test_values.py
