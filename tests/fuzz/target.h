// What a fuzz target is, and the limits that every one of them must keep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "maskctl/base/index.h"
#include "maskctl/io/streams/options.h"

/// One input: 0 when it was read, -1 when maskctl::Error was the answer; anything else thrown is a
/// fault. Also the entry point of libFuzzer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace maskctl::fuzz {

/// The limit that targets give to readers; they may use this and kSpareBytes more.
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
