// Rows of kernels for arrays on the GPU.
#pragma once

#include <memory>

#include "maskctl/attention/cuda/kernels.h"

namespace maskctl::attention::cuda {

/// InPlace<kernel>::row() returns an InPlaceKernel that makes plans with the constructor of `Plan`
/// and runs the function `kernel`.
template <auto kernel>
struct InPlace;
template <class Problem, class Plan, class... Arrays,
          void (*kernel)(Workspace&, const Problem&, const Plan&, const Arrays&...)>
struct InPlace<kernel> {
  template <class Planned = Problem>
  static constexpr InPlaceKernel<Planned, Arrays...> row() {
    return {.plan = [](const Planned& problem, Stream stream) -> std::shared_ptr<const void> {
              return std::make_shared<const Plan>(problem, stream);
            },
            .run =
                [](Workspace& workspace, const Planned& problem, const void* plan,
                   const Arrays&... arrays) {
                  kernel(workspace, problem, *static_cast<const Plan*>(plan), arrays...);
                }};
  }
};

}  // namespace maskctl::attention::cuda
