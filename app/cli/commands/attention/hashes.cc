#include "app/cli/commands/attention/hashes.h"

#include <algorithm>
#include <vector>

#include "maskctl/io/streams/byte_source.h"

namespace maskctl::app {
namespace {

constexpr std::uint64_t kStart = 0xcbf29ce484222325ULL;
constexpr Index kBlock = 4096, kBlocks = 256;

/// Continues the FNV-1a hash `hash` with these bytes.
std::uint64_t mixed(std::span<const std::byte> bytes, std::uint64_t hash) {
  for (const std::byte byte : bytes) {
    hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3ULL;
  }
  return hash;
}
template <class Number>
std::uint64_t mixed_number(Number number, std::uint64_t hash) {
  return mixed(std::as_bytes(std::span(&number, 1)), hash);
}

}  // namespace

std::uint64_t hash_of(std::span<const std::byte> bytes) { return mixed(bytes, kStart); }

std::uint64_t hash_of(const Mask& mask) {
  std::uint64_t hash = kStart;
  for (const PlanePtr& plane : mask.distinct()) {
    plane->rows({0, plane->queries()}, [&hash](Range rows, const Keys& keys) {
      const std::uint64_t of_row =
          keys.is_words() ? hash_of(std::as_bytes(keys.words)) : hash_of(std::as_bytes(keys.runs));
      for (Index n = 0; n < rows.size(); ++n) hash = mixed_number(of_row, hash);
    });
  }
  return hash;
}

std::uint64_t hash_of_file(const std::string& path) {
  const ByteSource file(path);
  const Index size = file.size().value_or(0);
  if (!file.seekable() || size == 0) return 0;
  const Index blocks = std::min(kBlocks, ceil_div(size, kBlock));
  std::vector<std::byte> block(static_cast<std::size_t>(kBlock));
  std::uint64_t hash = mixed_number(size, kStart);
  for (Index i = 0; i < blocks; ++i) {
    // Files of up to kBlocks blocks are hashed completely. Of larger files, kBlocks blocks at even
    // distances are hashed, the last one at the end of the file.
    const Index spread = blocks < kBlocks ? kBlock * i : (size - kBlock) * i / (kBlocks - 1);
    const Index read = file.read_at(spread, block);
    hash = mixed(std::span(block).first(static_cast<std::size_t>(read)), hash);
  }
  return hash;
}

}  // namespace maskctl::app
