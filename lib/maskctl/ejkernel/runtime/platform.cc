#include "maskctl/ejkernel/runtime/platform.h"

#include <algorithm>
#include <array>
#include <cstddef>

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

}  // namespace maskctl::attention
