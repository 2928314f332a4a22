#include "maskctl/inspect/count/digest.h"

#include <fmt/format.h>
#include <sha256.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <string_view>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

static_assert(std::endian::native == std::endian::little);

using Digest = std::array<std::uint8_t, SHA256_DIGEST_LENGTH>;

class Sha256 {
 public:
  Sha256() { SHA256Init(&state_); }
  void add(std::span<const std::byte> bytes) {
    SHA256Update(&state_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  Digest finish() {
    Digest out;
    SHA256Final(out.data(), &state_);
    return out;
  }

 private:
  SHA2_CTX state_;
};

/// `hashed` counts the bytes of all planes.
Digest plane_digest(const Plane& plane, std::atomic<Index>& hashed, Index most_bytes) {
  static_assert(sizeof(Run) == 8);
  constexpr std::size_t kFlush = std::size_t{1} << 14;
  constexpr std::int32_t kEnd = -1;
  Sha256 sha;
  std::vector<std::int32_t> pending;
  std::vector<Run> scratch;
  const auto flush = [&] {
    const auto bytes = std::as_bytes(std::span(pending));
    if ((hashed += std::ssize(bytes)) > most_bytes) {
      throw Error(
          Errc::kLimit,
          fmt::format("the digest of the cells goes over more than {} bytes of runs", most_bytes),
          {{Remedy::kRaiseMemoryLimit}, {Remedy::kSliceMask}});
    }
    sha.add(bytes);
    pending.clear();
  };
  plane.rows({0, plane.queries()}, [&](Range rows, const Keys& keys) {
    const std::span<const Run> runs = as_runs(keys, scratch);
    for (Index row = rows.begin; row < rows.end; ++row) {
      for (const Run& run : runs) {
        pending.push_back(run.begin);
        pending.push_back(run.end);
      }
      pending.push_back(kEnd);
      if (pending.size() >= kFlush) flush();
    }
  });
  flush();
  return sha.finish();
}

}  // namespace

std::string content_digest(const Mask& mask, Index most_bytes) {
  std::vector<Digest> planes(mask.distinct().size());
  std::atomic<Index> hashed = 0;
  parallel_for(static_cast<Index>(planes.size()), [&](Index i) {
    const auto at = static_cast<std::size_t>(i);
    planes[at] = plane_digest(*mask.distinct()[at], hashed, most_bytes);
  });
  Sha256 sha;
  constexpr std::string_view kTitle = "maskctl mask 1\n";
  sha.add(std::as_bytes(std::span(kTitle)));
  const Index shape[] = {mask.batch(), mask.heads(), mask.queries(), mask.keys()};
  sha.add(std::as_bytes(std::span(shape)));
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) {
      sha.add(std::as_bytes(std::span(planes[mask.index_of(b, h)])));
    }
  }
  std::string out;
  for (const std::uint8_t byte : sha.finish()) out += fmt::format("{:02x}", byte);
  return out;
}

}  // namespace maskctl
