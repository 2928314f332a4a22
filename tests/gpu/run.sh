#!/usr/bin/env bash
# Tests the kernels on a machine with an NVIDIA GPU, then times them:
#   tests/gpu/run.sh [--build FOLDER] [--only tests|sanitizer|bench]
#     [--part softmax|paged|linear|blocks|grouped|ring]
# --part runs one family of kernels only, without the checks of masks, in at most 8 minutes; all
# parts take at most 25. Whatever has not finished by then fails.
# Without --build it builds here. A FOLDER that the target gpu_stage made elsewhere, or its .tar.xz,
# brings everything: this machine then needs no packages.
# MASKCTL_GOLDEN_OPS may name more golden cases of operations, MASKCTL_CASES a folder of .npy masks
# to verify, MASKCTL_GPU_LOGS a folder that keeps the logs. Each figure is one line of JSON; the
# last line is "N passed, N failed".
set -uo pipefail
exec </dev/null
cd "$(dirname "$0")/../.." || exit
source tests/tally.sh

folder="" only="" part=""
while [ $# -gt 1 ]; do
  case $1 in
    --build) folder=$2 ;;
    --only) only=$2 ;;
    --part) part=$2 ;;
    *) break ;;
  esac
  shift 2
done
# The test files, golden operations and benchmarks of the part.
files=() operations=() benches=()
case $part in
  "") ;;
  softmax)
    files=(softmax_test call_parts_test mla_test closed_keys_test tiles_test backward_test probes_test)
    operations=(attention flash_attention scaled_dot_product_attention multi_head_latent_attention)
    benches=(softmax weights plan host) ;;
  paged)
    files=(paged_test decode_test prompts_test cache_update_test) benches=(paged)
    operations=(page_attention ragged_page_attention ragged_page_attention_v3 ragged_decode_attention) ;;
  linear) files=(linear_test) operations=(recurrent gla lightning_attn) benches=(linear) ;;
  blocks)
    files=(native_sparse_test) benches=(blocks)
    operations=(blocksparse_attention native_sparse_attention apply_native_sparse_attention) ;;
  grouped) files=(grouped_matmul_test) operations=(grouped_matmul mean_pooling) benches=(grouped pooling) ;;
  ring) files=(ring_test) operations=(ring_attention) ;;
  *) set -- "$part" ;;
esac
[ $# -eq 0 ] || { sed -n '2,11s/^# //p' "$0" >&2; exit 2; }
# tests_of_part [TESTS]: prints the arguments with which gpu_tests runs the tests of --part, one a
# line; TESTS, a Catch2 pattern, restricts them. With -#, Catch2 takes file names for tags.
tests_of_part() {
  if [ -n "$part" ]; then
    printf '%s\n' "-#" "$(printf "[#%s]${1:-}," device_test plan_test "${files[@]}")"
  elif [ -n "${1:-}" ]; then
    printf '%s\n' "$1"
  fi
}

wanted() { [ -z "$only" ] || [ "$only" = "$1" ]; }

# within SECONDS: prints SECONDS, or what is left if less: a part has 8 minutes, all parts have 25.
deadline=$((SECONDS + (${#part} ? 480 : 1500)))
within() {
  local left=$((deadline - SECONDS))
  echo $((left < 1 ? 1 : $1 < left ? $1 : left))
}

# logged NAME SECONDS COMMAND...: runs the command for at most that long, with its output in
# $logs/NAME. Leaves the exit status in $status and prints how long the command took.
logged() {
  local name=$1 limit=$2 begin=$EPOCHREALTIME
  shift 2
  limit=$(within "$limit")
  timeout -k 5 "$limit" "$@" >"$logs/$name" 2>&1
  status=$?
  [ "$status" -ne 124 ] || printf '%s: stopped after %s s\n' "$name" "$limit" | tee -a "$logs/$name"
  printf '{"figure": "seconds of %s", "value": %.1f}\n' "$name" \
    "$(awk "BEGIN {print $EPOCHREALTIME - $begin}")"
}

# run_program PROGRAM SECONDS ARGUMENT...: runs a Catch2 program and shows which kernels it ran.
run_program() {
  local program=$1
  logged "$program" "$2" "$folder/$program" "${@:3}"
  grep '^ran ' "$logs/$program"
  tally "$program" "$logs/$program" "$status"
}

# replay NAME OPS ARGUMENT...: replays golden cases of operations on the GPU.
replay() {
  MASKCTL_GOLDEN_OPS=$2 logged "$1" 120 "$folder/conformance" --backend cuda "${@:3}"
  tally_lines "$1" "$logs/$1"
}

# obeys MASK...: verifies that the GPU obeys a mask: results, gradients, keys that are read, NaN.
obeys() { check "verify $*" timeout -k 5 "$(within "${limit:-60}")" "$folder/maskctl" verify "$@" --backend cuda; }

# True if the GPU driver is loaded only by commands that ask the library for the GPU.
driver_sleeps() {
  # grep must read to the end: if it closed the pipe early, the program would be killed.
  loads() { LD_DEBUG=files "$folder/maskctl" "$@" 2>&1 >"$logs/unused" | grep 'libcuda\.so' >"$logs/loaded"; }
  ! loads --version && ! loads attend mean_pooling && ! loads gen causal:n=8 -o "$logs/mask.npy" &&
    loads backends mean_pooling
}

run_part_tests() {
  headline "tests of $part"
  local operation arguments
  mapfile -t arguments < <(tests_of_part)
  run_program gpu_tests 180 "${arguments[@]}"
  for operation in "${operations[@]}"; do
    replay "golden cases of $operation" "$PWD/tests/data/golden/ops" --suite "$operation"
  done
}

run_tests() {
  if [ -n "$part" ]; then run_part_tests; return; fi
  headline "tests"
  check "no driver is loaded unless the GPU is asked for" driver_sleeps
  run_program gpu_tests 180
  replay "golden cases" "$PWD/tests/data/golden/ops"
  [ -z "${MASKCTL_GOLDEN_OPS:-}" ] || replay "more golden cases" "$MASKCTL_GOLDEN_OPS"
  # The test that is left out reads the documentation, which may not be on this machine.
  run_program attention_tests 180 '~operations: the documentation lists every argument'
  run_program kernels_tests 180
  run_program verify_tests 180

  headline "masks"
  obeys samples/packed.npy --as segments -t causal
  obeys samples/packed.npy --as segments -t causal -t window:keys=8 --random-dtype bfloat16
  obeys samples/padded.npy --as padding
  obeys samples/cross.npy --random-dtype float16
  obeys samples/leaked.npy
  obeys samples/batch.safetensors:bias --as bias
  for operation in flash_attention scaled_dot_product_attention attention mla_attention; do
    obeys samples/heads.npy --op "$operation"
  done
  obeys samples/heads.npy --op blocksparse_attention
  obeys samples/window_sinks.npy --op ring_attention ring_size=2
  obeys gen:causal:n=300 -t dilated:stride=3
  obeys gen:full:n=200 -t prefix:n=70
  # One to several tiles of keys: a row whose maximum grows at a tile rescales its sums, other rows
  # do not.
  local n dtype dim seed
  for n in 128 300 512 700 1024; do
    for dtype in float16 bfloat16; do
      for dim in 64 128 256; do
        for seed in 0 1 2 3; do
          obeys "gen:causal:n=$n" --random-dtype "$dtype" --seed "$seed" --axes "D=$dim"
        done
      done
    done
  done
  local mask
  for mask in ${MASKCTL_CASES:+"$MASKCTL_CASES"/*.npy}; do
    # `show` refuses arrays that fit several kinds of masks; these are left out.
    if "$folder/maskctl" show "$mask" >"$logs/unused" 2>&1; then obeys "$mask"; fi
  done
  obeys gen:causal:n=32768 --against cpu --random-dtype bfloat16 --axes Hq=2+Hkv=1+D=64
  limit=240 obeys gen:window:keys=1024,n=1048576 --against cpu --random-dtype bfloat16 --axes Hq=1+Hkv=1+D=64
}

# Runs the sanitizers on the small calls of golden cases, which use every kernel, and on some random
# calls.
run_sanitizer() {
  headline "sanitizers"
  command -v compute-sanitizer >/dev/null || { echo "compute-sanitizer was not found"; return; }
  local tool operation arguments
  for tool in memcheck synccheck racecheck; do
    export MASKCTL_GPU_CALLS=6
    [ "$tool" != racecheck ] || MASKCTL_GPU_CALLS=2  # racecheck is many times slower
    # A test makes an allocation fail, so errors of the CUDA API are not reported.
    local options=(--tool "$tool" --error-exitcode 9 --report-api-errors no)
    for operation in "${operations[@]:-}"; do
      MASKCTL_GOLDEN_OPS=$PWD/tests/data/golden/ops check "$tool of golden cases${operation:+ of $operation}" \
        timeout -k 5 "$(within 100)" compute-sanitizer "${options[@]}" "$folder/conformance" --backend cuda \
        ${operation:+--suite "$operation"}
    done
    # racecheck does not know the copies of the copy engine. It is too slow for the many calls of a
    # ring, whose kernels other tests run too.
    if [ "$tool" = racecheck ]; then
      mapfile -t arguments < <(tests_of_part '~[tensor cores]~*a ring*')
    else
      mapfile -t arguments < <(tests_of_part)
    fi
    check "$tool of gpu_tests" timeout -k 5 "$(within 160)" compute-sanitizer "${options[@]}" \
      "$folder/gpu_tests" "${arguments[@]}"
  done
  unset MASKCTL_GPU_CALLS
}

run_bench() {
  headline "benchmarks"
  local bench
  for bench in "${benches[@]:-}"; do
    [ -z "$part" ] || [ -n "$bench" ] || continue  # a ring has its own, below
    logged bench_cuda 150 "$folder/bench_cuda" ${bench:+--only "$bench"}
    cat "$logs/bench_cuda"
    check "benchmarks end${bench:+: $bench}" [ "$status" -eq 0 ]
  done
  if [ -z "$part" ] || [ "$part" = ring ]; then
    logged bench_cuda_ring 100 "$folder/bench_cuda_ring"  # for machines with several GPUs
    cat "$logs/bench_cuda_ring"
    check "the benchmark of rings ends" [ "$status" -eq 0 ]
  fi
  [ -z "$part" ] || [ "$part" = softmax ] || return 0
  python3 -c 'import torch; assert torch.cuda.is_available()' 2>"$logs/torch" ||
    { echo "PyTorch with CUDA was not found"; return; }
  timeout -k 5 "$(within 300)" python3 tests/gpu/peer_bench.py "$folder/libmaskctl_gpu.so"
}

if [ -z "$folder" ]; then
  folder=build/cuda/gpu_stage
  check "configure" cmake --preset cuda -DMASKCTL_TESTS=ON || finish
  check "build" cmake --build build/cuda --target gpu_stage || finish
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
logs=${MASKCTL_GPU_LOGS:-$work}
case $folder in
  *.tar.xz) mkdir "$work/stage" && tar -C "$work/stage" -xf "$folder" && folder=$work/stage || exit ;;
  *) folder=$(cd "$folder" && pwd) || exit ;;
esac
"$folder/maskctl" backends mean_pooling | sed -n 's/^  .*cuda *gpu */kernels of the GPU: /p'
check "this machine can run the kernels" "$folder/gpu_tests" "gpu: this machine can run the kernels" ||
  finish
if wanted tests; then run_tests; fi
if wanted sanitizer; then run_sanitizer; fi
if wanted bench; then run_bench; fi
finish
