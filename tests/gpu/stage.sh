#!/usr/bin/env bash
# Puts what tests/gpu/run.sh runs into one folder that can be carried to another machine:
# stage.sh BUILD FOLDER. Libraries other than the C library's go along, to where the programs look.
# FOLDER.tar.xz is the same, smaller.
set -euo pipefail
build=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder/lib"
for program in app/maskctl tests/{attention_tests,conformance,gpu_tests,bench_cuda,bench_cuda_ring}; do
  strip -o "$folder/$(basename "$program")" "$build/$program"
done
module=$build/tests/libmaskctl_gpu.so  # for Python; a build that emulates the GPU has none
[ ! -e "$module" ] || strip -o "$folder/$(basename "$module")" "$module"
ldd "$folder"/{maskctl,attention_tests} | awk '$2 == "=>" {print $3}' | sort -u |
  grep -Ev '/(libc|libm|libdl|librt|libpthread)\.so' | xargs cp -L -t "$folder/lib"
tar -C "$folder" -c . | xz -T0 >"$folder.tar.xz"
