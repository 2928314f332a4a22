#include "maskctl/ejkernel/runtime/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "maskctl/base/error.h"
#include "maskctl/base/text.h"

namespace maskctl::attention {
namespace {

/// The backends with ejkernel's names for them, by descending priority (the last number).
constexpr std::array kPlatformRows = {
    PlatformRow{Backend::kCuda, Platform::kCuda, DeviceKind::kGpu, 20},
    PlatformRow{Backend::kCpu, Platform::kXla, DeviceKind::kCpu, 10},
    PlatformRow{Backend::kReference, Platform::kXla, DeviceKind::kCpu, 0},
};

bool fits(const PlatformRow& row, Platform platform, DeviceKind device) {
  return row.platform == platform && (device == DeviceKind::kAny || row.device == device);
}

/// The first row that matches a platform (not kAuto) and whose backend can run; null if there is
/// none.
const PlatformRow* search(Platform platform, DeviceKind device) {
  const auto found = std::ranges::find_if(kPlatformRows, [&](const PlatformRow& row) {
    return fits(row, platform, device) && unavailable(row.backend).empty();
  });
  return found == kPlatformRows.end() ? nullptr : &*found;
}

Platform concrete(Platform platform, DeviceKind device) {
  if (platform != Platform::kAuto) return platform;
  return search(Platform::kCuda, device) ? Platform::kCuda : Platform::kXla;
}

[[noreturn]] void fail(std::string_view operation, Platform platform, DeviceKind device) {
  std::set<std::string_view> platforms;
  for (const PlatformRow& row : kPlatformRows) {
    if (fits(row, platform, device)) {
      throw Error(Errc::kDevice, fmt::format("{} on platform {} cannot run: {}; use auto or xla",
                                             operation, name(platform), unavailable(row.backend)));
    }
    platforms.insert(name(row.platform));
  }
  throw Error(Errc::kUnsupported,
              fmt::format("{} has no kernel for platform {} on device {}; it has: {}", operation,
                          name(platform), name(device),
                          joined(std::vector(platforms.begin(), platforms.end()), ", ")));
}

std::string reason_of(const PlatformRow& row, bool chosen, Platform platform, DeviceKind device) {
  if (std::string missing = unavailable(row.backend); !missing.empty()) return missing;
  if (row.platform != platform) {
    return fmt::format("its platform is {}, not {}", name(row.platform), name(platform));
  }
  if (!fits(row, platform, device)) {
    return fmt::format("it runs on {}, not {}", name(row.device), name(device));
  }
  return chosen ? fmt::format("the highest priority of platform {}", name(platform))
                : fmt::format("priority {} is lower", row.priority);
}

}  // namespace

Backend find_backend(std::string_view operation, Platform platform, DeviceKind device) {
  platform = concrete(platform, device);
  const PlatformRow* const found = search(platform, device);
  if (!found) fail(operation, platform, device);
  return found->backend;
}

Backend backend_of(Platform platform) {
  const Platform asked = concrete(platform, DeviceKind::kAny);
  const auto row = std::ranges::find(kPlatformRows, asked, &PlatformRow::platform);
  if (row != kPlatformRows.end()) return row->backend;
  throw Error(Errc::kUnsupported,
              fmt::format("platform '{}': its kernels are not here; expected auto, xla or cuda",
                          name(platform)));
}

const PlatformRow& platform_row(Backend backend) {
  return *std::ranges::find(kPlatformRows, backend, &PlatformRow::backend);
}

std::vector<BackendChoice> explain_backends(Platform platform, DeviceKind device) {
  platform = concrete(platform, device);
  const PlatformRow* const chosen = search(platform, device);
  std::vector<BackendChoice> choices;
  for (const PlatformRow& row : kPlatformRows) {
    const bool taken = &row == chosen;
    choices.push_back({row.backend, row.platform, row.device, unavailable(row.backend).empty(),
                       taken, reason_of(row, taken, platform, device)});
  }
  return choices;
}

}  // namespace maskctl::attention
