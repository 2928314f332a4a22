// Where a kernel runs, with the names that ejkernel's configs use.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace maskctl::attention {

/// The family of a kernel. kAuto: cuda if such a kernel can run, else xla. kXla: the portable path,
/// that is, the fast CPU kernel if there is one, else the float64 reference. kTriton and kPallas
/// are valid in a config, but requesting such a kernel is an error.
enum class Platform : std::uint8_t { kAuto, kXla, kCuda, kTriton, kPallas };

/// The device to which a config restricts a kernel; kAny: no restriction.
enum class DeviceKind : std::uint8_t { kAny, kCpu, kGpu, kTpu };

/// Returns the name that ejkernel's configs use: "auto", "xla" and so on for a platform, "any",
/// "cpu" and so on for a device.
std::string_view name(Platform platform);
std::string_view name(DeviceKind kind);
/// nullopt for an unknown name.
std::optional<Platform> platform_from_name(std::string_view name);
std::optional<DeviceKind> device_kind_from_name(std::string_view name);

}  // namespace maskctl::attention
