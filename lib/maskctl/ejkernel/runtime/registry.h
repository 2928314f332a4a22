// Chooses the backend of a call by platform, and explains why the others were not chosen:
// ejkernel's registry of kernels. Every backend has kernels for each of its operations.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "maskctl/attention/problems/context.h"
#include "maskctl/ejkernel/runtime/platform.h"

namespace maskctl::attention {

/// The backend with the highest priority that matches platform and device and can run. kAuto: cuda
/// if it can run, else xla. A platform that is given by name is never replaced by another. Throws
/// Error(kUnsupported) if no backend matches; Error(kDevice) if one matches but cannot run, with
/// the reason and an alternative. `operation` is the name in the message.
Backend find_backend(std::string_view operation, Platform platform = Platform::kAuto,
                     DeviceKind device = DeviceKind::kAny);

/// The backend of a platform, whether or not it can run. Throws Error(kUnsupported) for kTriton and
/// kPallas.
Backend backend_of(Platform platform);

/// A backend, and ejkernel's names for its platform and device.
struct PlatformRow {
  Backend backend;
  Platform platform = Platform::kXla;
  DeviceKind device = DeviceKind::kCpu;
  int priority = 0;  // the highest one that matches is chosen
};
const PlatformRow& platform_row(Backend backend);

/// A backend that was considered, and why it was chosen or not.
struct BackendChoice {
  Backend backend = Backend::kReference;
  Platform platform = Platform::kXla;
  DeviceKind device = DeviceKind::kCpu;
  bool can_run = false;
  bool chosen = false;
  std::string reason;
};
/// Every backend by descending priority, with the reason why find_backend() chooses it or not.
std::vector<BackendChoice> explain_backends(Platform platform = Platform::kAuto,
                                            DeviceKind device = DeviceKind::kAny);

}  // namespace maskctl::attention
