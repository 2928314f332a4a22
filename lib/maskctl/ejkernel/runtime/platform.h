// Names of where a kernel runs, as ejkernel's configs spell them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace maskctl::attention {

/// The family of a kernel. kAuto: cuda where such a kernel can run, else xla. kXla: the portable
/// path, which is the fast CPU kernel where one exists and the float64 reference elsewhere.
/// kTriton, kPallas: valid in a config, an error when a kernel is requested.
enum class Platform : std::uint8_t { kAuto, kXla, kCuda, kTriton, kPallas };

/// The device a config restricts a kernel to; kAny restricts nothing.
enum class DeviceKind : std::uint8_t { kAny, kCpu, kGpu, kTpu };

/// "auto", "xla", ...; "any", "cpu", ...
std::string_view name(Platform platform);
std::string_view name(DeviceKind kind);
/// Nothing for an unknown name.
std::optional<Platform> platform_from_name(std::string_view name);
std::optional<DeviceKind> device_kind_from_name(std::string_view name);

}  // namespace maskctl::attention
