// Which table of kernels without a mask a backend has.
#include "maskctl/kernels/cpu/kernels.h"
#include "maskctl/kernels/cuda/kernels.h"
#include "maskctl/kernels/problems/table.h"
#include "maskctl/kernels/reference/kernels.h"

namespace maskctl::attention {

template <>
const MasklessKernels& kernels_of<MasklessKernels>(const BackendRow& row) {
  switch (row.backend) {
    case Backend::kReference:
      return reference::kMasklessKernels;
    case Backend::kCpu:
      return cpu::kMasklessKernels;
    case Backend::kCuda:
      break;
  }
  return cuda::kMasklessKernels;
}

}  // namespace maskctl::attention
