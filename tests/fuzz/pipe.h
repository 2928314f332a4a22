// A ByteSource on bytes in memory that behaves like a pipe: no seeking, and few bytes in each read.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "maskctl/io/streams/byte_source.h"

namespace maskctl::fuzz {

class PieceStream final : public ByteStream {
 public:
  explicit PieceStream(std::span<const std::byte> bytes) : bytes_(bytes) {}
  Index read(std::span<std::byte> out) override {
    const std::size_t count = std::min({out.size(), bytes_.size(), kPiece});
    std::copy_n(bytes_.begin(), count, out.begin());
    bytes_ = bytes_.subspan(count);
    return static_cast<Index>(count);
  }

 private:
  static constexpr std::size_t kPiece = 61;
  std::span<const std::byte> bytes_;
};

/// Reads `bytes` as from a pipe; they must outlive the returned source.
inline ByteSource piped(std::string name, std::span<const std::byte> bytes) {
  return ByteSource(std::move(name), std::make_unique<PieceStream>(bytes));
}

}  // namespace maskctl::fuzz
