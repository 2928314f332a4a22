#include "maskctl/attention/runtime/platform.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "maskctl/base/error.h"

namespace maskctl::attention {
namespace {

constexpr std::array<std::string_view, 5> kPlatforms = {"auto", "xla", "cuda", "triton", "pallas"};
constexpr std::array<std::string_view, 4> kDeviceKinds = {"any", "cpu", "gpu", "tpu"};

template <class Enum, std::size_t N>
std::optional<Enum> find(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::string_view name(Platform platform) { return kPlatforms[static_cast<std::size_t>(platform)]; }
std::string_view name(DeviceKind kind) { return kDeviceKinds[static_cast<std::size_t>(kind)]; }

std::optional<Platform> platform_from_name(std::string_view name) {
  return find<Platform>(kPlatforms, name);
}
std::optional<DeviceKind> device_kind_from_name(std::string_view name) {
  return find<DeviceKind>(kDeviceKinds, name);
}

Backend backend_of(Platform platform) {
  if (platform == Platform::kTriton || platform == Platform::kPallas) {
    throw Error(Errc::kUnsupported,
                fmt::format("platform '{}': its kernels are not here; expected auto, xla or cuda",
                            name(platform)));
  }
  const bool on_gpu = platform == Platform::kCuda ||
                      (platform == Platform::kAuto && unavailable(Backend::kCuda).empty());
  return on_gpu ? Backend::kCuda : Backend::kCpu;
}

}  // namespace maskctl::attention
