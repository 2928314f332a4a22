// The backends of this build.
#include "maskctl/attention/problems/backends.h"

#include <array>

#include "maskctl/attention/cpu/kernels.h"
#include "maskctl/attention/cuda/kernels.h"
#include "maskctl/attention/reference/kernels.h"

namespace maskctl::attention {

std::span<const BackendRow> backends() {
  static constexpr std::array kRows{
      BackendRow{.backend = Backend::kCuda,
                 .name = "cuda",
                 .kernels = &cuda::kKernels,
                 .unavailable = cuda::unavailable,
                 .devices = cuda::gpus,
                 .use_device = cuda::use_gpu},
      BackendRow{
          .backend = Backend::kCpu, .name = "cpu", .kernels = &cpu::kKernels, .is_tuned = true},
      BackendRow{.backend = Backend::kReference,
                 .name = "reference",
                 .kernels = &reference::kKernels,
                 .is_reference = true},
  };
  return kRows;
}

}  // namespace maskctl::attention
