// Which kernels exist for an operation, which one a call gets, and why not the others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "maskctl/attention/runtime/platform.h"
#include "maskctl/attention/softmax/softmax.h"

namespace maskctl::attention {

/// One way to compute an operation.
struct KernelSpec {
  Platform platform = Platform::kXla;  // any but kAuto
  DeviceKind device = DeviceKind::kCpu;
  std::string algorithm;  // the operation, in lower case
  int priority = 0;       // the highest that fits wins; the earlier one among equals
  Backend implementation = Backend::kReference;  // unused while it cannot run
  /// Why it cannot run here, such as "no NVIDIA GPU was found"; empty when it can, as it always can
  /// by default. Asked only when the kernel is in question: the first answer may take a driver's
  /// start.
  std::string (*unavailable)() = [] { return std::string(); };
};

/// A kernel that was looked at, and why it was or was not taken.
struct KernelChoice {
  KernelSpec spec;
  bool chosen = false;
  std::string reason;
};

class KernelRegistry {
 public:
  /// Names are compared in lower case. Throws Error(kInvalidArgument) for Platform::kAuto.
  void add(KernelSpec spec);

  /// Sorted.
  std::vector<std::string> list_algorithms() const;
  /// By priority; empty for an unknown name.
  std::vector<KernelSpec> list_implementations(std::string_view algorithm) const;

  /// The kernel of the highest priority that fits the platform and the device and can run.
  /// kAuto: a cuda kernel that can run, else xla. A platform that is named is never left for
  /// another one. `algorithm` is in lower case. Throws Error(kUnsupported) when no kernel fits, and
  /// Error(kDevice) when one fits and cannot run, with the reason and what to ask for instead.
  /// The reference lasts until the next add().
  const KernelSpec& find(std::string_view algorithm, Platform platform = Platform::kAuto,
                         DeviceKind device = DeviceKind::kAny) const;
  /// Every kernel of the algorithm, by priority, with the reason why find() takes it or not.
  std::vector<KernelChoice> explain(std::string_view algorithm, Platform platform = Platform::kAuto,
                                    DeviceKind device = DeviceKind::kAny) const;

 private:
  const KernelSpec* search(std::string_view algorithm, Platform platform, DeviceKind device) const;

  std::vector<KernelSpec> specs_;  // priority descending, then as added
};

/// The kernels of this build: for every operation the fast CPU kernel (xla, priority 10) and the
/// float64 reference (xla, priority 0), and the GPU's (cuda, priority 20).
const KernelRegistry& builtin_kernels();

}  // namespace maskctl::attention
