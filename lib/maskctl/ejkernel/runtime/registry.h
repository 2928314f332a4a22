// Which backend a call of a platform gets, and why not the others: ejkernel's registry of kernels.
// Every backend of backends() has kernels for every operation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "maskctl/attention/problems/context.h"
#include "maskctl/ejkernel/runtime/platform.h"

namespace maskctl::attention {

/// The backend of the highest priority that fits the platform and the device and can run. kAuto:
/// cuda where it can run, else xla. A platform that is named is never left for another one. Throws
/// Error(kUnsupported) when no backend fits, and Error(kDevice) when one fits and cannot run, with
/// the reason and what to ask for instead; `operation` is what the error names.
Backend find_backend(std::string_view operation, Platform platform = Platform::kAuto,
                     DeviceKind device = DeviceKind::kAny);

/// The backend that a call of a platform asks for, whether or not it can run. Throws
/// Error(kUnsupported) for kTriton and kPallas.
Backend backend_of(Platform platform);

/// What ejkernel calls a backend.
struct PlatformRow {
  Backend backend;
  Platform platform = Platform::kXla;
  DeviceKind device = DeviceKind::kCpu;
  int priority = 0;  // the highest that fits a request wins
};
const PlatformRow& platform_row(Backend backend);

/// A backend that was looked at, and why it was or was not taken.
struct BackendChoice {
  Backend backend = Backend::kReference;
  Platform platform = Platform::kXla;
  DeviceKind device = DeviceKind::kCpu;
  bool can_run = false;
  bool chosen = false;
  std::string reason;
};
/// Every backend, by priority, with the reason why find_backend() takes it or not.
std::vector<BackendChoice> explain_backends(Platform platform = Platform::kAuto,
                                            DeviceKind device = DeviceKind::kAny);

}  // namespace maskctl::attention
