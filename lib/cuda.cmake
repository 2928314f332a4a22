# The CUDA kernels, a part of the attention layer: compiled for GPUs, emulated by the CPU, or absent.
file(GLOB_RECURSE cuda_plain CONFIGURE_DEPENDS maskctl/attention/cuda/*.cc)
file(GLOB_RECURSE cuda_kernels CONFIGURE_DEPENDS maskctl/attention/cuda/*.cu)
set(cuda_absent ${CMAKE_CURRENT_SOURCE_DIR}/maskctl/attention/cuda/absent.cc)
list(REMOVE_ITEM cuda_plain ${cuda_absent})

if(NOT MASKCTL_CUDA)
  set(cuda_plain ${cuda_absent})
  set(cuda_kernels)
elseif(MASKCTL_CUDA STREQUAL "EMULATED")
  set(emulator ${PROJECT_SOURCE_DIR}/tests/gpu/emulator)
  set_source_files_properties(${cuda_kernels} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-xc++")
  list(APPEND cuda_plain ${emulator}/emulator.cc)
endif()

add_library(maskctl_cuda OBJECT ${cuda_plain} ${cuda_kernels})
target_include_directories(maskctl_cuda PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(maskctl_cuda PRIVATE maskctl_sanitize fmt::fmt)
if(MASKCTL_CUDA STREQUAL "EMULATED")
  target_include_directories(maskctl_cuda BEFORE PRIVATE ${emulator})
  target_compile_definitions(maskctl_cuda PRIVATE MASKCTL_CUDA_EMULATED)
  target_compile_options(maskctl_cuda PRIVATE -Wall -Wextra -Wno-unknown-pragmas
    $<$<BOOL:${MASKCTL_WERROR}>:-Werror>)
elseif(MASKCTL_CUDA)
  target_link_libraries(maskctl_cuda PRIVATE CUDA::cudart_static)
  set_target_properties(maskctl_cuda PROPERTIES CUDA_STANDARD 20)
  target_compile_options(maskctl_cuda PRIVATE
    "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;-diag-suppress=554;-Xcompiler=-Wall>")
endif()
