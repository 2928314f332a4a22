#!/usr/bin/env bash
# Collects what tests/gpu/run.sh runs in FOLDER, for another machine: stage.sh BUILD FOLDER. Shared
# libraries other than those of the C library go to where the programs look for them. FOLDER.tar.xz
# holds the same.
set -euo pipefail
build=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder/lib"
for program in app/maskctl tests/{attention_tests,kernels_tests,verify_tests,conformance,gpu_tests,bench_cuda,bench_cuda_ring}; do
  strip -o "$folder/$(basename "$program")" "$build/$program"
done
module=$build/tests/libmaskctl_gpu.so  # for peer_bench.py; not built where the GPU is emulated
[ ! -e "$module" ] || strip -o "$folder/$(basename "$module")" "$module"
ldd "$folder"/{maskctl,attention_tests} | awk '$2 == "=>" {print $3}' | sort -u |
  grep -Ev '/(libc|libm|libdl|librt|libpthread)\.so' | xargs cp -L -t "$folder/lib"
tar -C "$folder" -c . | xz -T0 >"$folder.tar.xz"
