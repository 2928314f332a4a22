// The interface of a fuzz target, and the limits of time and memory that every target must keep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "maskctl/base/index.h"
#include "maskctl/io/streams/options.h"

/// Reads one input. Returns 0 when it was accepted and -1 when it was refused with maskctl::Error;
/// any other exception is a fault. libFuzzer calls this function too.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace maskctl::fuzz {

/// The memory limit that targets give to readers; a process may use kSpareBytes on top of that.
inline constexpr Index kMaxBytes = Index{16} << 20;
inline constexpr Index kSpareBytes = Index{200} << 20;
inline constexpr double kMaxSeconds = 2;

inline ReadOptions read_options() {
  ReadOptions options;
  options.max_bytes = kMaxBytes;
  return options;
}

inline std::span<const std::byte> bytes_of(const std::uint8_t* data, std::size_t size) {
  return std::as_bytes(std::span(data, size));
}

}  // namespace maskctl::fuzz
