#include "maskctl/inspect/find/unseen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>

#include "maskctl/base/ranges.h"
#include "maskctl/inspect/recognise/cells.h"

namespace maskctl {
namespace {

using Flags = std::vector<std::uint8_t>;
constexpr Index kMostKeys = Index{1} << 22;

std::vector<Range> clear_ranges(const Flags& seen) {
  std::vector<Range> out;
  for (Index key = 0; key < std::ssize(seen); ++key) {
    if (seen[as_size(key)] == 0) append_range(out, {key, key + 1});
  }
  return out;
}

}  // namespace

std::vector<UnseenKeys> unseen_keys(const Mask& mask) {
  std::vector<UnseenKeys> out;
  if (mask.keys() > kMostKeys || mask.count() == 0) return out;
  std::map<std::uint32_t, Flags> seen_in;  // by plane
  for (Index b = 0; b < mask.batch(); ++b) {
    Flags seen(as_size(mask.keys()));
    for (Index h = 0; h < mask.heads(); ++h) {
      const auto [at, fresh] = seen_in.try_emplace(mask.index_of(b, h));
      if (fresh) at->second = recognition::touched(*mask.plane(b, h)).k;
      std::ranges::transform(seen, at->second, seen.begin(), std::bit_or<>());
    }
    std::vector<Range> keys = clear_ranges(seen);
    if (!keys.empty()) out.push_back({b, std::move(keys)});
  }
  return out;
}

std::string unseen_words(std::span<const UnseenKeys> unseen, const Mask& mask) {
  constexpr std::size_t kMost = 4;
  std::map<std::string, std::vector<Range>> batches;  // by the words for their keys
  std::vector<std::string> words;
  for (const UnseenKeys& one : unseen) {
    const std::string keys = range_words(one.keys, "key", {}, kMost);
    auto& its = batches[keys];
    if (its.empty()) words.push_back(keys);
    append_range(its, {one.batch, one.batch + 1});
  }
  std::string out;
  Index said = 0;
  for (std::size_t i = 0; i < std::min(words.size(), kMost); ++i) {
    const std::vector<Range>& its = batches[words[i]];
    for (const Range& range : its) said += range.size();
    out += (i > 0 ? ", " : "") + words[i];
    const bool all = its.front().size() == mask.batch();
    if (!all) out += fmt::format(" ({})", range_words(its, "batch", "batches", kMost));
  }
  const Index more = std::ssize(unseen) - said;
  return more > 0 ? out + fmt::format(", and {} more batches", more) : out;
}

}  // namespace maskctl
