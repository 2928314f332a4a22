#!/usr/bin/env bash
# Everything that must hold, from a fresh clone: installs what is missing, checks the format,
# builds, runs all tests, runs clang-tidy on what changed, tries the samples, the documentation and an
# installed copy, runs tests again under sanitizers. The last line is "N passed, N failed"; exit 1 when anything failed.
set -uo pipefail
exec </dev/null
cd "$(dirname "$0")/.." || exit
export CTEST_OUTPUT_ON_FAILURE=1 PYTHONDONTWRITEBYTECODE=1
filter=  # the cases that run_programs runs, as Catch2 names them
export MALLOC_PERTURB_=165  # fresh memory holds garbage: what reads it unwritten shows

source tests/tally.sh

# run_programs BUILD SUFFIX PROGRAM...: runs test programs, one on each core, and tallies them. The
# slowest come first, so that no core waits for one at the end.
run_programs() {
  local build=$1 suffix=$2 program
  shift 2
  rm -f "$build"/tests/*_tests.{log,status}
  printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} \
    sh -c "$build/tests/{} ${filter:+'$filter'} >$build/tests/{}.log 2>&1; echo \$? >$build/tests/{}.status"
  for program in "$@"; do
    tally "$program$suffix" "$build/tests/$program.log" "$(cat "$build/tests/$program.status" || echo 1)"
  done
}

# run_conformance BUILD SUFFIX [PROGRAM [ARGUMENT...]]: replays the golden data.
run_conformance() {
  local log=$1/tests/conformance.log
  "$1/tests/${3:-conformance}" "${@:4}" >"$log" 2>&1
  tally_lines "conformance$2" "$log"
}

# test_programs BUILD PROGRAM...: the names that CMake knows, these first.
test_programs() {
  { printf '%s\n' "${@:2}" && ctest --test-dir "$1" -N | sed -n 's/^ *Test *#[0-9]*: //p'; } |
    awk '!seen[$0]++'
}

# build FOLDER TARGET...
build() { cmake --build "$1" --target "${@:2}"; }

format_is_kept() {
  find lib app tests \( -name '*.cc' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
    xargs -0 clang-format --dry-run -Werror --style=file
}

# A shared library that links ours exports nothing of it.
plugin_exports_its_own() {
  nm -DC --defined-only "$1" | grep -q open_cells && ! nm -DC --defined-only "$1" | grep maskctl::
}

# The installed package serves a project that has only find_package(maskctl).
package_is_usable() {
  rm -rf build/package build/prefix &&
    cmake --install build/release --prefix "$PWD/build/prefix" &&
    cmake -S tests/package -B build/package -G Ninja -DCMAKE_BUILD_TYPE=Release \
      -DCMAKE_PREFIX_PATH="$PWD/build/prefix" &&
    cmake --build build/package && build/package/consumer && build/prefix/bin/maskctl --version &&
    plugin_exports_its_own build/package/libplugin.so
}

headline "packages"
check "packages are installed" bash tests/install-deps.sh --tests || finish

headline "format"
check "clang-format has nothing to change" format_is_kept

headline "release build"
check "configure" cmake --preset release -DMASKCTL_TESTS=ON || finish
check "library and command build without warnings" build build/release maskctl maskctl_command || finish
check "tests and benchmarks build without warnings" build build/release all || finish
# emulated_attention_tests is attention_tests, object by object, with the kernels of the GPU, which
# the CPU runs; attention_tests itself runs below, on the other instruction sets.
mapfile -t programs < <(test_programs build/release emulated_attention_tests app_tests mask_tests gpu_tests |
  grep -vx attention_tests)
run_programs build/release "" "${programs[@]}"
run_conformance build/release ""

headline "the other instruction sets of vector code"
for target in $(grep -qw avx2 /proc/cpuinfo && echo AVX2) baseline; do
  export MASKCTL_TEST_CPU_TARGET=$target
  run_programs build/release " ($target)" mask_tests attention_tests
  run_conformance build/release " ($target)"
done
unset MASKCTL_TEST_CPU_TARGET

headline "ranks over MPI"
bash tests/distributed/run.sh build/release >build/release/tests/distributed.log 2>&1
check "calls over ranks: every operation, the command, failures" \
  grep -q ' 0 failed$' build/release/tests/distributed.log || cat build/release/tests/distributed.log

headline "kernels of the GPU"
MASKCTL_GOLDEN_OPS=$PWD/tests/data/golden/ops \
  run_conformance build/release " on the emulated GPU" emulated_conformance --backend cuda
for n in 1 2 3 4; do
  check "$n emulated GPUs: operations over a mesh, the ring under every mask of samples" \
    build/release/tests/emulated_rank_checks threads "$n" cuda
done
# To the thread sanitizer each thread of an emulated block is one.
check "kernels compile with the thread sanitizer" build build/release race_gpu_tests || finish
MASKCTL_GPU_CALLS=1 filter='~[slow]~[big]' run_programs build/release " (inside blocks)" race_gpu_tests
if command -v nvcc >/dev/null; then
  check "configure for CUDA" cmake --preset cuda -DMASKCTL_TESTS=OFF || finish
  check "kernels compile without warnings" build build/cuda maskctl_cuda maskctl_hopper
  check "kernels for tensor cores keep their registers" tests/gpu/check_reports.sh build/cuda
fi

headline "clang-tidy on what changed"
check "clang-tidy has nothing to say" bash tests/tidy.sh build/release

headline "headers"
check "each header compiles alone" build build/release all_verify_interface_header_sets

# Each of these keeps one core busy.
check_package_and_documentation() {
  check "the installed package serves another project" package_is_usable
  check "the command works where it is installed, and from its Debian package" \
    bash tests/package/use_command.sh build/release
  check "quickstart runs" bash samples/quickstart.sh
  check "samples are what their scripts make" sh -c \
    "/usr/bin/python3 samples/make_samples.py --check && /usr/bin/python3 samples/make_containers.py --check"
  check "samples are what their manifest says" \
    build/release/app/maskctl golden check samples/golden.toml
  check "documentation shows what the command prints" \
    /usr/bin/python3 tests/check_docs.py build/release/app/maskctl
}

headline "address and undefined behaviour sanitizers; package, samples, documentation"
start_beside check_package_and_documentation
check "configure with sanitizers" cmake --preset asan -DMASKCTL_TESTS=ON || finish
# The layers that read files or work on raw memory; the others only call them.
programs=(gpu_tests attention_tests mask_tests io_tests tensor_tests base_tests)
mapfile -t fuzzers < <(basename -s .cc tests/fuzz/fuzz_*.cc)
check "build with sanitizers" build build/asan "${programs[@]}" "${fuzzers[@]}" || finish
join_beside
# Fibers of emulated kernels change places slowly there.
MASKCTL_GPU_CALLS=1 filter='~[slow]' run_programs build/asan " with sanitizers" "${programs[@]}"
check "fuzz targets find nothing in 30 seconds" bash tests/fuzz/run.sh build/asan 30

headline "thread sanitizer"
check "configure with the thread sanitizer" cmake --preset tsan -DMASKCTL_TESTS=ON || finish
check "build with the thread sanitizer" build build/tsan race_tests || finish
run_programs build/tsan " with the thread sanitizer" race_tests

finish
