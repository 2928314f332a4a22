# The CUDA kernels, parts of the layers attention and kernels: compiled for GPUs, emulated by the CPU, or absent.
set(cuda_folders attention)
if(MASKCTL_KERNELS)
  list(APPEND cuda_folders kernels)
endif()
list(TRANSFORM cuda_folders REPLACE ".+" "maskctl/\\0/cuda")
list(TRANSFORM cuda_folders APPEND "/*.cc" OUTPUT_VARIABLE patterns)
file(GLOB_RECURSE cuda_plain CONFIGURE_DEPENDS ${patterns})
list(TRANSFORM cuda_folders APPEND "/*.cu" OUTPUT_VARIABLE patterns)
file(GLOB_RECURSE cuda_kernels CONFIGURE_DEPENDS ${patterns})
list(TRANSFORM cuda_folders APPEND "/absent.cc" OUTPUT_VARIABLE cuda_absent)
list(TRANSFORM cuda_absent PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
list(REMOVE_ITEM cuda_plain ${cuda_absent})
# Kernels for one kind of GPU.
set(hopper_kernels ${cuda_kernels})
list(FILTER hopper_kernels INCLUDE REGEX "/hopper/")
list(REMOVE_ITEM cuda_kernels ${hopper_kernels})

# Compilers for GPUs fuse products into sums; where the CPU can, emulated kernels have that too, so
# that tests find what only holds of products that are rounded first.
include(CheckCXXSourceRuns)
set(CMAKE_REQUIRED_FLAGS -mfma)
check_cxx_source_runs("int main() { return !__builtin_cpu_supports(\"fma\"); }" MASKCTL_CPU_FUSES)
unset(CMAKE_REQUIRED_FLAGS)
option(MASKCTL_EMULATED_FUSES "Emulated kernels fuse products into sums, as a GPU does"
  ${MASKCTL_CPU_FUSES})
# Kernels read and write elements as vectors of 16 bytes, which compilers for GPUs allow. Their
# aligned arguments are passed otherwise than before GCC 4.6, which it notes for each. Sources for the
# host have the same options, so that they and kernels share a precompiled header.
set(emulated_options -fno-strict-aliasing -Wno-psabi)
if(MASKCTL_EMULATED_FUSES)
  list(APPEND emulated_options -mfma -ffp-contract=fast -fexpensive-optimizations)
endif()

# maskctl_emulated_kernels(NAME SOURCE...): an object library of kernels that the CPU runs, for tests.
function(maskctl_emulated_kernels name)
  set(emulator ${PROJECT_SOURCE_DIR}/tests/gpu/emulator)
  set(kernels ${ARGN})
  list(FILTER kernels INCLUDE REGEX "\\.cu$")
  set_source_files_properties(${kernels} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS -xc++)
  add_library(${name} OBJECT ${ARGN})
  target_include_directories(${name} BEFORE PRIVATE ${emulator})
  target_compile_definitions(${name} PRIVATE MASKCTL_CUDA_EMULATED)
  target_compile_options(${name} PRIVATE ${emulated_options} -Wall -Wextra -Wno-unknown-pragmas
    -Wno-maybe-uninitialized $<$<BOOL:${MASKCTL_WERROR}>:-Werror>)
endfunction()
# maskctl_emulated_cuda(NAME EMULATOR): all kernels of the library, with what emulates a GPU.
function(maskctl_emulated_cuda name source)
  maskctl_emulated_kernels(${name} ${cuda_plain} ${cuda_kernels} ${hopper_kernels}
    ${PROJECT_SOURCE_DIR}/tests/gpu/emulator/${source})
  target_precompile_headers(${name} PRIVATE <algorithm> <functional> <vector> <fmt/format.h>
    maskctl/attention/cuda/launch.cuh maskctl/attention/cuda/gpus.h)
endfunction()

if(NOT MASKCTL_CUDA)
  add_library(maskctl_cuda OBJECT ${cuda_absent})
  if(MASKCTL_TESTS)
    maskctl_emulated_cuda(maskctl_cuda_emulated emulator.cc)
    # The same for race_gpu_tests: threads of a block are threads to the thread sanitizer.
    maskctl_emulated_cuda(maskctl_cuda_races emulator_races.cc)
    set_target_properties(maskctl_cuda_races PROPERTIES EXCLUDE_FROM_ALL ON)
    target_compile_options(maskctl_cuda_races PRIVATE -O1 -fsanitize=thread)
    set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/gpu/emulator/emulator_races.cc
      PROPERTIES COMPILE_OPTIONS "-fno-sanitize=thread" SKIP_PRECOMPILE_HEADERS ON)
  endif()
elseif(MASKCTL_CUDA STREQUAL "EMULATED")
  maskctl_emulated_cuda(maskctl_cuda emulator.cc)
else()
  add_library(maskctl_cuda OBJECT ${cuda_plain} ${cuda_kernels})
  add_library(maskctl_hopper OBJECT ${hopper_kernels})
  set_target_properties(maskctl_hopper PROPERTIES CUDA_ARCHITECTURES 90a-real)
  foreach(library maskctl_cuda maskctl_hopper)
    target_link_libraries(${library} PRIVATE CUDA::cudart_static)
    set_target_properties(${library} PROPERTIES CUDA_STANDARD 20
      RULE_LAUNCH_COMPILE "${PROJECT_SOURCE_DIR}/tests/gpu/keep_report.sh <OBJECT>")
    target_compile_options(${library} PRIVATE
      "$<$<COMPILE_LANGUAGE:CUDA>:-Xptxas=-v;--expt-relaxed-constexpr;-diag-suppress=554;-Xcompiler=-Wall>")
  endforeach()
endif()
foreach(library maskctl_cuda maskctl_hopper maskctl_cuda_emulated maskctl_cuda_races)
  if(TARGET ${library})
    target_include_directories(${library} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(${library} PRIVATE maskctl_sanitize fmt::fmt)
  endif()
endforeach()
