#!/usr/bin/env bash
# Checks all that must hold, from a fresh clone: installs what is missing, builds, runs the tests.
# The last line is "N passed, N failed"; exit 1 when anything failed.
#
#     tests/run.sh               all lanes but those by hand: what continuous integration runs
#     tests/run.sh --quick       what to run before a commit
#     tests/run.sh --lane NAME   one lane; may be repeated
#
# A lane is a group of checks: it names the programs that it needs, and lists its tasks. First all
# programs of the chosen lanes are built, then their tasks run, one on each core, long ones first.
# With --quick a test program is not run again if it passed, and neither it nor its data changed.
set -uo pipefail
exec </dev/null
cd "$(dirname "$0")/.." || exit
export CTEST_OUTPUT_ON_FAILURE=1 PYTHONDONTWRITEBYTECODE=1
export MALLOC_PERTURB_=165  # fills new memory with garbage, so that tests see reads before writes

source tests/tally.sh

kByHand=(clang aarch64)
kLanes=(quick ejkernel isa gpu mpi package python tidy asan tsan fuzz)
declare -A about=(
  [quick]="format, the release build, each program once, golden data, layers, documentation"
  [ejkernel]="library and command without what follows ejkernel, and without operations that have no mask, from the same objects"
  [isa]="vector code on older instruction sets"
  [gpu]="kernels of the GPU, which the CPU emulates; with nvcc they are compiled too"
  [mpi]="calls over ranks that mpirun starts"
  [package]="headers, benchmarks, the installed package and command, quickstart"
  [python]="the wheel of the release build: module, commands of the documentation, bad input"
  [tidy]="clang-tidy on what changed"
  [asan]="address and undefined behaviour sanitizers"
  [tsan]="thread sanitizer"
  [fuzz]="fuzz targets, 30 seconds of processor time"
  [clang]="by hand, and before a release: library, command and module compiled by clang"
  [aarch64]="by hand, and before a release: masks and files on 64-bit ARM, which qemu emulates"
)

usage() {
  sed -n '5,7s/^# *//p' "$0" >&2
  for lane in "${kLanes[@]}" "${kByHand[@]}"; do printf '  %-9s%s\n' "$lane" "${about[$lane]}" >&2; done
  exit 2
}

lanes=() again=yes
while [ $# -gt 0 ]; do
  case $1 in
    --quick) lanes+=(quick) again=no ;;
    --lane) [ -n "${2:-}" ] && [ -n "${about[$2]:-}" ] || usage; lanes+=("$2"); shift ;;
    *) usage ;;
  esac
  shift
done
[ ${#lanes[@]} -gt 0 ] || lanes=("${kLanes[@]}")
wants() { [[ " ${lanes[*]} " == *" $1 "* ]]; }

release=build/release asan=build/asan tsan=build/tsan clang=build/clang arm=build/aarch64
# The tests of layers that read files or work on raw memory; the other layers only call these.
raw_layers=(attention_tests kernels_tests verify_tests gpu_tests ejkernel_tests mask_tests io_tests tensor_tests base_tests)
mapfile -t fuzzers < <(basename -s .cc tests/fuzz/fuzz_*.cc)

# configure PRESET OPTION...: configures build/PRESET; ends the run if that fails, as build does.
configure() { check "configure $1" cmake --preset "$1" -DMASKCTL_TESTS=ON "${python[@]}" "${@:2}" || finish; }
# build FOLDER NAME TARGET...: builds the targets in a folder, as a check called NAME.
build() { check "$2 without warnings" cmake --build "$1" --target "${@:3}" || finish; }

# test_programs FIRST...: prints the test programs that CMake knows, the given ones first.
test_programs() {
  { printf '%s\n' "$@" && ctest --test-dir $release -N | sed -n 's/^ *Test *#[0-9]*: //p'; } | awk '!seen[$0]++'
}

format_is_kept() {
  find lib app tests \( -name '*.cc' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
    xargs -0 -n 64 -P "$(nproc)" clang-format --dry-run -Werror --style=file
}

# Checks that a shared library that links maskctl exports none of its functions.
plugin_exports_its_own() {
  nm -DC --defined-only "$1" | grep -q open_cells && ! nm -DC --defined-only "$1" | grep maskctl::
}

# Checks that the installed package serves a project that has only find_package(maskctl).
package_is_usable() {
  rm -rf build/package build/prefix &&
    cmake --install build/release --prefix "$PWD/build/prefix" &&
    cmake -S tests/package -B build/package -G Ninja -DCMAKE_BUILD_TYPE=Release \
      -DCMAKE_PREFIX_PATH="$PWD/build/prefix" &&
    cmake --build build/package && build/package/consumer && build/prefix/bin/maskctl --version &&
    plugin_exports_its_own build/package/libplugin.so &&
    /usr/bin/python3 tests/package/pages.py check README.md build/package/page_README &&
    /usr/bin/python3 tests/package/pages.py check docs/cpp.md build/package/page_cpp
}

samples_are_made() {
  /usr/bin/python3 samples/make_samples.py --check && /usr/bin/python3 samples/make_containers.py --check
}

# A hash of all files that tests read, except sources; fails outside of a git repository.
data_key() {
  git ls-files -zco --exclude-standard -- tests samples docs README.md \
    ':!*.cc' ':!*.h' ':!*.cu' ':!*.cuh' | xargs -0 sha256sum | sha256sum
}

# once PROGRAM: runs a test program; if nothing has changed since it passed, prints its last output
# instead.
once() {
  local log=$1.passed key status
  key="$(cat "$1" $release/app/maskctl $release/app/maskctl-hdf5 | sha256sum) $data"
  if [ "$(head -n 1 "$log" 2>/dev/null)" = "$key" ]; then
    tail -n +2 "$log" && echo "not run again"
    return
  fi
  "$1" >"$log.new" 2>&1
  status=$?
  cat "$log.new"
  [ $status -ne 0 ] || { echo "$key" && cat "$log.new"; } >"$log"
  rm "$log.new"
  return $status
}

headline "packages"
extra=()
! wants clang || extra+=(--clang)
! wants aarch64 || extra+=(--aarch64)
! wants python && ! wants clang || extra+=(--venv)
check "packages are installed" bash tests/install-deps.sh --tests "${extra[@]}" || finish
python=()
if wants python || wants clang; then
  python=(-DMASKCTL_PYTHON=ON -DPython_EXECUTABLE=/usr/bin/python3
    "-Dnanobind_DIR=$(build/venv/bin/python -m nanobind --cmake_dir)")
fi
configure release

if wants quick; then
  headline "format"
  check "clang-format has nothing to change" format_is_kept
fi

targets=()
if wants gpu; then
  targets+=(emulated_attention_tests emulated_kernels_tests emulated_verify_tests emulated_conformance
    emulated_rank_checks race_gpu_tests)
  cases "emulated_attention_tests" "$release/tests/emulated_attention_tests"
  cases "emulated_kernels_tests" "$release/tests/emulated_kernels_tests"
  cases "emulated_verify_tests" "$release/tests/emulated_verify_tests"
  # Here the thread sanitizer sees each thread of an emulated block as a thread. Cases tagged
  # [values] only feed other values to code that other cases run, so sanitizers skip them.
  cases "race_gpu_tests (inside blocks)" env MASKCTL_GPU_CALLS=1 "$release/tests/race_gpu_tests" '~[slow]~[big]~[values]'
  golden "conformance on the emulated GPU" env "MASKCTL_GOLDEN_OPS=$PWD/tests/data/golden/ops" \
    "$release/tests/emulated_conformance" --backend cuda
  for n in 1 2 3 4; do
    task "$n emulated GPUs: operations over a mesh, the ring under every mask of samples" \
      "$release/tests/emulated_rank_checks" threads "$n" cuda
  done
fi
if wants isa; then
  targets+=(attention_tests kernels_tests verify_tests mask_tests conformance)
  for target in $(grep -qw avx512f /proc/cpuinfo && echo AVX2) baseline; do
    limit=(env "MASKCTL_TEST_CPU_TARGET=$target")
    for program in attention_tests kernels_tests verify_tests mask_tests; do
      cases "$program ($target)" "${limit[@]}" "$release/tests/$program"
    done
    # Golden masks are left out: mask_tests tries their vector code exhaustively.
    golden "conformance of operations ($target)" "${limit[@]}" \
      "MASKCTL_GOLDEN_OPS=$PWD/tests/data/golden/ops" "$release/tests/conformance"
  done
fi
sanitized=()
if wants asan; then
  sanitized+=("${raw_layers[@]}")
  for program in "${raw_layers[@]}"; do
    # The fibers of emulated kernels switch slowly with sanitizers.
    cases "$program with sanitizers" env MASKCTL_GPU_CALLS=1 "$asan/tests/$program" '~[slow]~[values]'
  done
fi
if wants fuzz; then sanitized+=("${fuzzers[@]}"); fi
clang_programs=(mask_tests io_tests inspect_tests render_tests translate_tests)
if wants clang; then
  for program in "${clang_programs[@]}"; do
    cases "$program compiled by clang" "$clang/tests/$program"
  done
  task "the module compiled by clang" env "PYTHONPATH=$PWD/$clang/python" \
    "MASKCTL_PROGRAM=$PWD/$clang/app/maskctl" /usr/bin/python3 -m pytest -q -p no:cacheprovider \
    --rootdir=/ -c /dev/null tests/python/test_arrays.py tests/python/test_bad_input.py
fi
arm_programs=(mask_tests io_tests tensor_tests base_tests)
if wants aarch64; then
  targets+=(maskctl_hdf5)  # the emulator starts the program of this machine
  for program in "${arm_programs[@]}"; do
    # Cases tagged [host] ask what the system does where programs or threads cannot be started.
    cases "$program on 64-bit ARM" qemu-aarch64 -L build/sysroot/aarch64 "$arm/tests/$program" '~[host]'
  done
fi
if wants tsan; then cases "race_tests with the thread sanitizer" "$tsan/tests/race_tests"; fi

if wants quick; then
  mapfile -t programs < <(test_programs gpu_tests attention_tests app_tests mask_tests inspect_tests io_tests)
  targets+=(maskctl_command maskctl_pages conformance "${programs[@]}")
  data=$(data_key || date +%N)
  for program in "${programs[@]}"; do
    # emulated_attention_tests has the same objects as attention_tests, and the kernels of the GPU;
    # so it is with kernels_tests and verify_tests.
    if [[ $program =~ ^(attention|kernels|verify)_tests$ ]] && wants gpu; then continue; fi
    # project_tests reads all sources, whose changes `once` does not notice.
    if [ $again = no ] && [ "$program" != project_tests ]; then
      cases "$program" once "$release/tests/$program"
    else
      cases "$program" "$release/tests/$program"
    fi
  done
  golden "conformance" "$release/tests/conformance"
  task "samples are what their scripts make" samples_are_made
  task "samples are what their manifest says" $release/app/maskctl golden check samples/golden.toml
  task "problems are found by their commands" /usr/bin/python3 tests/check_problems.py $release/app/maskctl
  task "documentation shows what the command prints" /usr/bin/python3 tests/check_docs.py $release/app/maskctl
fi
if wants ejkernel; then
  check "configure without ejkernel" cmake --preset release -B build/core -DMASKCTL_EJKERNEL=OFF || finish
  # Without ejkernel all test programs must link, and the command must run and refuse what needs it.
  targets+=(app_tests core_programs)
  cases "app_tests without ejkernel" env "MASKCTL_TEST_COMMAND=$PWD/$release/app/core/maskctl" \
    "$release/tests/app_tests" '[.without_ejkernel],~[ejkernel]~[slow]~[without_kernels]'
  # So without operations that have no mask, which ejkernel's runtime needs.
  check "configure without kernels" cmake --preset release -B build/masks -DMASKCTL_KERNELS=OFF || finish
  targets+=(masks_programs)
  cases "app_tests without kernels" env "MASKCTL_TEST_COMMAND=$PWD/$release/app/masks/maskctl" \
    "$release/tests/app_tests" '[.without_kernels]'
fi
if wants mpi; then targets+=(maskctl_command rank_checks emulated_maskctl_command); fi
if wants package; then
  targets+=(maskctl_command maskctl_pages benchmarks)
  task "the installed package serves another project" package_is_usable
  task "the command works where it is installed, and from its Debian package" \
    bash tests/package/use_command.sh $release
  task "CMake names what is missing, and what a build is without" bash tests/package/configure.sh
fi

if wants python; then
  targets+=(maskctl_package maskctl_pages)
  sanitized+=(maskctl_python)
  task "the wheel: installed, every test, commands of docs/tasks.md, notebook" bash tests/python/run.sh $release
  task "the module with the address sanitizer" bash tests/python/run_sanitized.sh $asan $release
fi

headline "builds"
[ ${#targets[@]} -eq 0 ] || build $release "the release build" "${targets[@]}"
# Making the wheel configures the build again, so nothing else may use the build meanwhile.
if wants python; then check "the wheel is made, 15 MiB at most" bash tests/python/make_wheel.sh $release; fi
if [ ${#sanitized[@]} -gt 0 ]; then
  configure asan "-DMASKCTL_APP_FROM=$PWD/$release"
  build $asan "the build with sanitizers" "${sanitized[@]}"
fi
if wants clang; then
  configure clang
  build $clang "the build with clang" maskctl_package "${clang_programs[@]}"
fi
if wants aarch64; then
  check "packages for 64-bit ARM are unpacked" bash tests/aarch64/sysroot.sh || finish
  check "configure for 64-bit ARM" cmake --preset release -B $arm --toolchain \
    tests/aarch64/toolchain.cmake -DMASKCTL_TESTS=ON -DMASKCTL_EJKERNEL=OFF -DMASKCTL_HDF5=OFF \
    -DMASKCTL_MPI=OFF -DMASKCTL_PYTHON=OFF "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG" || finish
  build $arm "the build for 64-bit ARM" "${arm_programs[@]}"
  cp $release/app/maskctl-hdf5 $arm/tests/
fi
if wants package; then
  check "each header compiles alone" cmake --build $release --target maskctl_headers
fi
if wants tsan; then
  configure tsan
  build $tsan "the build with the thread sanitizer" race_tests
fi
if wants gpu && command -v nvcc >/dev/null; then
  # The assembler runs for one architecture only, the one whose registers are checked.
  check "configure for CUDA" cmake --preset cuda -DMASKCTL_TESTS=OFF \
    "-DCMAKE_CUDA_ARCHITECTURES=80-virtual;90a-real" || finish
  check "kernels compile without warnings" cmake --build build/cuda --target maskctl_cuda maskctl_hopper
  check "kernels for tensor cores keep their registers" tests/gpu/check_reports.sh build/cuda
fi

headline "tests"
run_tasks

# These checks use all cores by themselves, or build.
if wants package; then check "quickstart runs" bash samples/quickstart.sh; fi
if wants mpi; then
  headline "ranks over MPI"
  task "calls over ranks: every operation, the command, failures" bash tests/distributed/run.sh $release
  run_tasks
fi
if wants tidy; then
  headline "clang-tidy"
  check "clang-tidy has nothing to say" bash tests/tidy.sh $release
fi
if wants fuzz; then
  headline "fuzz targets"
  seconds=$((30 / $(nproc) + 1))
  check "fuzz targets find nothing in $seconds seconds" bash tests/fuzz/run.sh $asan "$seconds"
fi

finish
