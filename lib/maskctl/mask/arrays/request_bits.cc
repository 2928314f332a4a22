// Bits by request, and bits of draft trees.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/bits.h"
#include "maskctl/mask/arrays/requests.h"
#include "maskctl/mask/planes/document_ranges.h"
#include "maskctl/mask/planes/row_lists/row_keys.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/rows.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

constexpr Index kTreeTokens = 64;  // bits of a row

[[noreturn]] void refuse_requests(const std::string& message) {
  throw Error(Errc::kFormat, message);
}

/// Offsets [R+1] that start with 0 and never fall.
std::vector<std::int64_t> offsets_in(const Tensor& array, const char* name) {
  if (array.rank() != 1 || array.elements() == 0) {
    throw Error(Errc::kShape, fmt::format("{} has the shape {}; expected (R + 1,)", name,
                                          shape_text(array.shape())));
  }
  std::vector<std::int64_t> out = as_int64(array, name);
  if (out[0] != 0) refuse_requests(fmt::format("{} starts with {}; expected 0", name, out[0]));
  for (std::size_t i = 1; i < out.size(); ++i) {
    if (out[i] >= out[i - 1]) continue;
    refuse_requests(fmt::format("{} falls from {} to {} at entry {}", name, out[i - 1], out[i], i));
  }
  return out;
}

Index extent_of(std::span<const std::int64_t> offsets, std::optional<Index> wanted,
                const char* name) {
  constexpr Index kMost = std::numeric_limits<std::int32_t>::max();
  const Index most = wanted.value_or(kMost);
  if (offsets.back() <= most) return wanted.value_or(offsets.back());
  refuse_requests(fmt::format("{} ends at {}; expected at most {}", name, offsets.back(), most));
}

/// The checked offsets of bits by request.
struct RequestPlaces {
  std::vector<std::int64_t> q, kv, bytes;

  explicit RequestPlaces(const RequestBits& bits);
  Index queries(std::size_t r) const { return q[r + 1] - q[r]; }
  Index keys(std::size_t r) const { return kv[r + 1] - kv[r]; }
  /// The number of the request that has a query.
  std::size_t of_query(Index query) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(q, query) - q.begin()) - 1;
  }
  void check_bytes(Index size) const;
  void check_tail(std::span<const std::byte> packed) const;
};

RequestPlaces::RequestPlaces(const RequestBits& bits)
    : q(offsets_in(bits.qo, "qo_indptr")), kv(offsets_in(bits.kv, "kv_indptr")) {
  if (bits.packed.rank() != 1 || bits.packed.dtype() != DType::kUInt8) {
    throw Error(Errc::kShape,
                fmt::format("packed_custom_mask is {} of {}; expected (N,) of uint8",
                            shape_text(bits.packed.shape()), name(bits.packed.dtype())));
  }
  if (bits.mask) bytes = offsets_in(*bits.mask, "mask_indptr");
  if (q.size() != kv.size() || (bits.mask && q.size() != bytes.size())) {
    throw Error(Errc::kShape,
                fmt::format("qo_indptr has {} requests, kv_indptr {}{}; expected as many",
                            q.size() - 1, kv.size() - 1,
                            bits.mask ? fmt::format(", mask_indptr {}", bytes.size() - 1) : ""));
  }
  check_bytes(bits.packed.elements());
  if (!bits.mask) {
    bytes.push_back(0);
    for (std::size_t r = 0; r + 1 < q.size(); ++r) {
      bytes.push_back(bytes.back() + ceil_div(queries(r) * keys(r), 8));
    }
  }
  check_tail(std::as_bytes(bits.packed.as<std::uint8_t>()));
}

/// Throws unless each request has as many bytes as its cells take, among `size`.
void RequestPlaces::check_bytes(Index size) const {
  Index total = 0;
  for (std::size_t r = 0; r + 1 < q.size(); ++r) {
    const auto cells = checked_mul(queries(r), keys(r));
    const auto sum = cells ? checked_add(total, ceil_div(*cells, 8)) : std::nullopt;
    if (!sum || *sum > size) {
      refuse_requests(
          fmt::format("request {} has {} queries and {} keys, whose bits end past the {} "
                      "bytes of packed_custom_mask",
                      r, queries(r), keys(r), size));
    }
    total = *sum;
    if (bytes.empty()) continue;
    const Index taken = bytes[r + 1] - bytes[r], needed = ceil_div(*cells, 8);
    if (taken == needed) continue;
    refuse_requests(fmt::format(
        "mask_indptr gives request {} {} bytes; expected {} for {} cells{}", r, taken, needed,
        *cells,
        taken == *cells ? ": it counts cells, as plan() of FlashInfer leaves it where it is given "
                          "packed_custom_mask"
                        : ""));
  }
  if (bytes.empty() || bytes.back() <= size) return;
  refuse_requests(
      fmt::format("mask_indptr ends at {}; packed_custom_mask has {} bytes", bytes.back(), size));
}

/// Throws where bits behind the last cell of a request are set.
void RequestPlaces::check_tail(std::span<const std::byte> packed) const {
  for (std::size_t r = 0; r + 1 < q.size(); ++r) {
    const Index used = queries(r) * keys(r) % 8;
    if (used == 0) continue;
    const auto last = std::to_integer<unsigned>(packed[as_size(bytes[r + 1] - 1)]);
    if (last >> used == 0) continue;
    refuse_requests(
        fmt::format("request {}: bits behind its {} cells are set; its lengths are not "
                    "those that the bits were packed with",
                    r, queries(r) * keys(r)));
  }
}

/// Runs of a row of bits, moved to the key `first`.
void add_moved(std::span<const std::uint64_t> words, Index first, std::vector<Run>& runs) {
  const std::size_t from = runs.size();
  words_to_runs(words, runs);
  for (std::size_t i = from; i < runs.size(); ++i) {
    runs[i].begin += static_cast<std::int32_t>(first);
    runs[i].end += static_cast<std::int32_t>(first);
  }
}

/// The documents of a mask, and what lies between and behind them, as requests that cover it.
void requests_of(const Plane& plane, std::vector<Index>& q, std::vector<Index>& kv) {
  q = kv = {0};
  for (const DocumentRange& document : document_ranges(plane)) {
    if (document.q.begin > q.back() || document.k.begin > kv.back()) {
      q.push_back(document.q.begin);
      kv.push_back(kv.back());
      q.push_back(document.q.begin);
      kv.push_back(document.k.begin);
    }
    q.push_back(document.q.end);
    kv.push_back(document.k.end);
  }
  if (q.back() == plane.queries() && kv.back() == plane.keys()) return;
  q.push_back(plane.queries());
  kv.push_back(kv.back());
  q.push_back(plane.queries());
  kv.push_back(plane.keys());
}

}  // namespace

Tensor int32_list(const std::vector<Index>& values) {
  Tensor out(DType::kInt32, {std::ssize(values)});
  std::ranges::transform(values, out.as<std::int32_t>().begin(),
                         [](Index value) { return static_cast<std::int32_t>(value); });
  return out;
}

Tensor int64_list(const std::vector<Index>& values) {
  Tensor out(DType::kInt64, {std::ssize(values)});
  std::ranges::copy(values, out.as<std::int64_t>().begin());
  return out;
}

Mask mask_from_request_bits(const RequestBits& bits, std::optional<Index> queries,
                            std::optional<Index> keys, Index max_bytes) {
  const RequestPlaces places(bits);
  const Index q = extent_of(places.q, queries, "qo_indptr");
  const Index k = extent_of(places.kv, keys, "kv_indptr");
  const auto packed = bits.packed.bytes();
  return Mask(filled_lists(q, k, 1, {max_bytes}, [&](Index row, std::vector<Run>& runs) {
    if (row >= places.q.back()) return;
    const std::size_t r = places.of_query(row);
    const Index length = places.keys(r);
    if (length == 0) return;
    thread_local std::vector<std::uint64_t> words;
    words.resize(as_size(words_for(length)));
    unpack_rows(packed, places.bytes[r] * 8 + (row - places.q[r]) * length, 1, length, words);
    add_moved(words, places.kv[r], runs);
  }));
}

RequestBits request_bits_from_mask(const Mask& mask, Index max_bytes) {
  const PlanePtr& plane = mask.plane(0, 0);
  std::vector<Index> q, kv, bytes{0};
  requests_of(*plane, q, kv);
  for (std::size_t r = 0; r + 1 < q.size(); ++r) {
    const auto cells = checked_mul(q[r + 1] - q[r], kv[r + 1] - kv[r]);
    const auto end = cells ? checked_add(bytes.back(), ceil_div(*cells, 8)) : std::nullopt;
    constexpr Index kMost = std::numeric_limits<std::int32_t>::max();  // of offsets
    if (!end || *end > std::min(max_bytes, kMost)) {
      throw Error(Errc::kLimit,
                  fmt::format("the bits of {} queries and {} keys take more than {} bytes",
                              mask.queries(), mask.keys(), std::min(max_bytes, kMost)),
                  {{Remedy::kRaiseMemoryLimit}, {Remedy::kSliceMask}});
    }
    bytes.push_back(*end);
  }
  RequestBits out{Tensor(DType::kUInt8, {bytes.back()}), int32_list(q), int32_list(kv),
                  int32_list(bytes)};
  for (std::size_t r = 0; r + 1 < q.size(); ++r) {
    const Range rows{q[r], q[r + 1]}, columns{kv[r], kv[r + 1]};
    if (rows.empty() || columns.empty()) continue;
    std::vector<std::uint64_t> words(as_size(words_for(rows.size() * columns.size())));
    pack_rows(*plane->sliced(rows, columns), {0, rows.size()}, 0, words);
    const auto to = out.packed.bytes().subspan(as_size(bytes[r]), as_size(bytes[r + 1] - bytes[r]));
    std::ranges::copy(std::as_bytes(std::span(words)).first(to.size()), to.begin());
  }
  return out;
}

Mask mask_from_tree_bits(const TreeBits& bits) {
  const bool wide = bits.rows.dtype() == DType::kUInt64 || bits.rows.dtype() == DType::kInt64;
  if (bits.rows.rank() != 1 || !wide) {
    throw Error(Errc::kShape, fmt::format("tree_mask is {} of {}; expected (N,) of uint64 or int64",
                                          shape_text(bits.rows.shape()), name(bits.rows.dtype())));
  }
  const auto lens = offsets_in(bits.lens, "tree_mask_lens");
  const Index tokens = bits.rows.elements();
  if (lens.back() != tokens) {
    refuse_requests(
        fmt::format("tree_mask_lens ends at {}; tree_mask has {} rows", lens.back(), tokens));
  }
  for (std::size_t t = 1; t < lens.size(); ++t) {
    if (lens[t] - lens[t - 1] <= kTreeTokens) continue;
    refuse_requests(fmt::format("tree {} has {} tokens; a row of {} bits holds no more than these",
                                t - 1, lens[t] - lens[t - 1], kTreeTokens));
  }
  constexpr Index kMostKeys = std::numeric_limits<std::int32_t>::max();
  if (bits.prefix < 0) {
    refuse_requests(fmt::format("a prefix of {} keys; expected at least 0", bits.prefix));
  }
  if (bits.prefix > kMostKeys - tokens) {
    throw Error(Errc::kLimit, fmt::format("a prefix of {} keys before {} tokens; a mask has at "
                                          "most {} keys",
                                          bits.prefix, tokens, kMostKeys));
  }
  std::vector<std::uint64_t> rows(as_size(tokens));
  std::ranges::copy(bits.rows.bytes(), std::as_writable_bytes(std::span(rows)).begin());
  constexpr Index kInMemory = std::numeric_limits<Index>::max();
  const Index keys = bits.prefix + tokens;
  return Mask(filled_lists(tokens, keys, 1, {kInMemory}, [&](Index row, std::vector<Run>& runs) {
    const auto next = std::ranges::upper_bound(lens, row);
    const Index first = next[-1], size = *next - first;
    const std::uint64_t word = rows[as_size(row)];
    if (size < kTreeTokens && word >> size != 0) {
      refuse_requests(fmt::format("tree {}, token {}: bits behind its {} tokens are set",
                                  next - lens.begin() - 1, row - first, size));
    }
    const std::size_t from = runs.size();
    if (bits.prefix > 0) runs.push_back({0, static_cast<std::int32_t>(bits.prefix)});
    add_moved({&word, 1}, bits.prefix + first, runs);
    if (runs.size() < from + 2 || runs[from].end != runs[from + 1].begin) return;
    runs[from].end = runs[from + 1].end;  // runs do not touch
    runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(from) + 1);
  }));
}

NearestTrees nearest_tree_bits(const Mask& mask) {
  const Index tokens = mask.queries(), prefix = mask.keys() - tokens;
  if (prefix < 0) {
    throw Error(Errc::kShape, fmt::format("{} queries and {} keys; trees of tokens have as many, "
                                          "and a prefix more keys",
                                          tokens, mask.keys()));
  }
  const PlanePtr plane = mask.plane(0, 0)->sliced({0, tokens}, {prefix, mask.keys()});
  // The last token that is joined with a token, as it sees it or is seen by it.
  std::vector<Index> joined(as_size(tokens));
  for (Index t = 0; t < tokens; ++t) joined[as_size(t)] = t;
  each_open_row(*plane, [&](Range equal, Range keys) {
    for (Index q = equal.begin; q < equal.end; ++q) {
      Index& last = joined[as_size(std::min(q, keys.begin))];
      last = std::max({last, q, keys.end - 1});
    }
  });
  std::vector<Index> lens{0};
  Index last = 0;
  for (Index t = 0; t < tokens; ++t) {
    last = std::max(last, joined[as_size(t)]);
    if (last == t || t + 1 - lens.back() == kTreeTokens) lens.push_back(t + 1);
  }
  NearestTrees out{{Tensor(DType::kUInt64, {tokens}), int32_list(lens), prefix}, {}};
  const auto rows = out.bits.rows.as<std::uint64_t>();
  for (std::size_t t = 0; t + 1 < lens.size(); ++t) {
    const Range tree{lens[t], lens[t + 1]};
    std::vector<Run> scratch;
    plane->sliced(tree, tree)->rows({0, tree.size()}, [&](Range equal, const Keys& keys) {
      std::uint64_t word = 0;
      runs_to_words(as_runs(keys, scratch), {&word, 1});
      for (Index q = equal.begin; q < equal.end; ++q) rows[as_size(tree.begin + q)] = word;
    });
  }
  out.mask = mask_from_tree_bits(out.bits);
  return out;
}

}  // namespace maskctl
