// Kinds of sparse kernels (slices, limits, intervals, bits by request, trees, padded lengths):
// round trips of drawn masks, and plain twins of what arrays mean.
#include <algorithm>
#include <array>

#include "io/mask_files.h"
#include "maskctl/base/checked.h"
#include "maskctl/mask/arrays/flashmask.h"
#include "maskctl/mask/arrays/intervals.h"
#include "maskctl/mask/arrays/requests.h"
#include "maskctl/mask/arrays/slices.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"
#include "support/leaf_maker.h"
#include "support/rounds.h"

using namespace maskctl;
using namespace maskctl::test;

namespace {

constexpr Index kKeyBytes = Index{1} << 30;
constexpr std::array kKeyKinds{
    ArrayKind::kIndexLists, ArrayKind::kFlashmask,     ArrayKind::kFlashmaskCausal,
    ArrayKind::kIntervals,  ArrayKind::kSlices,        ArrayKind::kRequestBits,
    ArrayKind::kTreeBits,   ArrayKind::kPaddedLengths, ArrayKind::kRaggedOffsets};

/// A plane of one of several forms: bands, documents, columns with gaps, single cells.
PlanePtr drawn_plane(std::mt19937& random, Index q, Index k) {
  const auto pick = twin::pick_from(random);
  PlanePtr out = diagonal_band(q, k, pick(0, 2) ? -kUnbounded : pick(-q, k), pick(-3, k));
  for (Index i = pick(0, 3); i > 0; --i) {
    const Index from = pick(0, q), at = pick(0, k);
    const auto op = std::array{Op::kAnd, Op::kOr, Op::kXor, Op::kSub}[as_size(pick(0, 3))];
    out = combine(op, out, rectangle(q, k, {from, pick(from, q)}, {at, pick(at, k)}));
  }
  if (pick(0, 4) > 0) return out;
  const Mask noise = mask_from_dense(
      bool_tensor({q, k}, random_cells(q * k, static_cast<unsigned>(random()), 0.3)));
  return combine(pick(0, 1) ? Op::kAnd : Op::kXor, out, noise.plane(0, 0));
}

Mask drawn_mask(std::mt19937& random, bool square) {
  const auto pick = twin::pick_from(random);
  const Index batch = pick(0, 2) ? 1 : pick(2, 3), heads = pick(0, 2) ? 1 : pick(2, 3);
  const Index q = pick(1, 90), k = square ? q : pick(1, 90);
  return Mask::make(batch, heads, q, k, [&](Index, Index) { return drawn_plane(random, q, k); });
}

LoadedMask read_back(const ConvertedMask& converted, const Mask& mask) {
  std::vector<NamedView> views;
  for (const NamedTensor& array : converted.arrays) views.push_back({array.name, array.tensor});
  MaskReadOptions options;
  options.as = converted.kind;
  if (converted.needs_shape) {
    options.shape = {{mask.batch(), mask.heads(), mask.queries(), mask.keys()}};
  }
  return read_mask("arrays", views, options);
}

/// True of the kinds that hold any mask of one head.
bool holds_all(ArrayKind kind) {
  return kind == ArrayKind::kIndexLists || kind == ArrayKind::kIntervals ||
         kind == ArrayKind::kSlices || kind == ArrayKind::kRequestBits;
}

/// The cells that a slice opens, as MagiAttention's documentation draws them.
bool in_slice(std::span<const std::int64_t> q, std::span<const std::int64_t> k, Index type, Index i,
              Index j) {
  if (i < q[0] || i >= q[1] || j < k[0] || j >= k[1]) return false;
  const Index queries = q[1] - q[0], keys = k[1] - k[0], row = i - q[0], column = j - k[0];
  if (type % 2 == 1 && column > row + keys - queries) return false;
  return type < 2 || column >= row;
}

}  // namespace

TEST_CASE("kinds of sparse kernels: 1000 drawn masks come back, or as the mask that was promised") {
  std::mt19937 random(61);
  std::array<int, kKeyKinds.size()> exact{};
  for (int round = 0; round < rounds(1000); ++round) {
    const Mask mask = drawn_mask(random, round % 2 == 0);
    for (std::size_t i = 0; i < kKeyKinds.size(); ++i) {
      const ArrayKind kind = kKeyKinds[i];
      if (kind == ArrayKind::kFlashmaskCausal && mask.queries() != mask.keys()) continue;
      const Index prefix = mask.keys() - mask.queries();
      const bool behind = prefix == 0 || (prefix > 0 && mask.batch() == 1);
      if (kind == ArrayKind::kTreeBits && !behind) continue;
      CAPTURE(round, name(kind), shape_text(mask));
      MaskWriteOptions options;
      options.kind = kind;
      const ConvertedMask converted = convert_mask(mask, options);
      REQUIRE(converted.changed == differing_cells(mask, converted.mask));
      const LoadedMask back = read_back(converted, mask);
      REQUIRE(back.kind == kind);
      REQUIRE(back.facts.empty());
      REQUIRE(differing_cells(back.mask, converted.mask) == 0);
      if (holds_all(kind) && mask.heads() == 1) REQUIRE(converted.changed == 0);
      exact[i] += converted.changed == 0;
    }
  }
  for (std::size_t i = 0; i < kKeyKinds.size(); ++i) {
    INFO(name(kKeyKinds[i]));
    CHECK(exact[i] > rounds(1000) / 100);
  }
}

TEST_CASE("kinds of sparse kernels: families come back exactly") {
  const PlanePtr causal = diagonal_band(32, 32, -kUnbounded, 0);
  const Tensor ends = i32({0, 10, 17, 32});
  const PlanePtr documents = mask_from_cu_seqlens(ends, ends).plane(0, 0);
  const PlanePtr sinks = rectangle(32, 32, {0, 32}, {0, 4});
  const PlanePtr window = diagonal_band(32, 32, -8, 0);
  struct Row {
    ArrayKind kind;
    const char* what;
    PlanePtr plane;
  };
  for (const auto& [kind, what, plane] : {
           Row{ArrayKind::kFlashmaskCausal, "causal documents",
               combine(Op::kAnd, documents, causal)},
           Row{ArrayKind::kFlashmaskCausal, "window", window},
           Row{ArrayKind::kFlashmaskCausal, "window and sinks",
               combine(Op::kAnd, combine(Op::kOr, window, sinks), causal)},
           Row{ArrayKind::kFlashmask, "documents", documents},
           Row{ArrayKind::kFlashmask, "prefix", combine(Op::kOr, causal, sinks)},
           Row{ArrayKind::kFlashmask, "two-sided window", diagonal_band(32, 32, -3, 4)},
           Row{ArrayKind::kTreeBits, "causal documents", combine(Op::kAnd, documents, causal)},
           Row{ArrayKind::kTreeBits, "causal tokens behind a prefix",
               diagonal_band(32, 72, -kUnbounded, 40)},
           Row{ArrayKind::kPaddedLengths, "documents", documents},
           Row{ArrayKind::kPaddedLengths, "documents with gaps",
               combine(Op::kOr, rectangle(32, 32, {2, 9}, {4, 8}),
                       rectangle(32, 32, {9, 20}, {12, 30}))},
           Row{ArrayKind::kRaggedOffsets, "documents with gaps",
               combine(Op::kOr, rectangle(32, 32, {2, 9}, {4, 8}),
                       rectangle(32, 32, {9, 20}, {12, 30}))},
       }) {
    CAPTURE(name(kind), what);
    const Mask mask(plane);
    MaskWriteOptions options;
    options.kind = kind;
    const ConvertedMask converted = convert_mask(mask, options);
    CHECK(converted.changed == 0);
    CHECK(differing_cells(read_back(converted, mask).mask, mask) == 0);
  }
}

TEST_CASE("draft trees: 1000 drawn trees, behind a prefix too, come back from 64 bits a token") {
  std::mt19937 random(65);
  for (int round = 0; round < rounds(1000); ++round) {
    const auto pick = twin::pick_from(random);
    const Index trees = pick(1, 4);
    Int64s lens{0};
    for (Index t = 0; t < trees; ++t) lens.push_back(lens.back() + pick(1, 64));
    const Index n = lens.back(), prefix = pick(0, 1) * pick(1, 200), keys = prefix + n;
    Cells expected(as_size(n * keys));
    std::vector<std::uint64_t> words;
    for (std::size_t t = 0; t + 1 < lens.size(); ++t)
      for (Index i = lens[t]; i < lens[t + 1]; ++i) {
        const Index parent = i == lens[t] ? -1 : pick(lens[t], i - 1);
        std::uint64_t word = std::uint64_t{1} << (i - lens[t]);
        if (parent >= 0) word |= words[as_size(parent)];
        words.push_back(word);
        for (Index j = 0; j < prefix; ++j) expected[as_size(i * keys + j)] = 1;
        for (Index j = lens[t]; j < lens[t + 1]; ++j)
          expected[as_size(i * keys + prefix + j)] = word >> (j - lens[t]) & 1;
      }
    const TreeBits bits{tensor_of(DType::kUInt64, {n}, words),
                        int_tensor({trees + 1}, lens, DType::kInt32), prefix};
    const Mask mask = mask_from_tree_bits(bits);
    CAPTURE(round, lens, prefix);
    REQUIRE(cells_of(mask) == expected);
    const NearestTrees back = nearest_tree_bits(mask);
    REQUIRE(back.bits.prefix == prefix);
    REQUIRE(differing_cells(back.mask, mask) == 0);
    REQUIRE(std::ranges::equal(back.bits.lens.as<std::int32_t>(), bits.lens.as<std::int32_t>()));
  }
}

TEST_CASE("slices: 1000 drawn lists mean what plain loops draw, and overlaps are counted") {
  std::mt19937 random(62);
  for (int round = 0; round < rounds(1000); ++round) {
    const auto pick = twin::pick_from(random);
    const Index queries = pick(1, 40), keys = pick(1, 40), count = pick(0, 6);
    Int64s q, k, types;
    for (Index i = 0; i < count; ++i) {
      q.push_back(pick(0, queries)), q.push_back(pick(q.back(), queries));
      k.push_back(pick(0, keys)), k.push_back(pick(k.back(), keys));
      types.push_back(pick(0, 3));
    }
    const SliceArrays slices{int_tensor({count, 2}, q), int_tensor({count, 2}, k),
                             int_tensor({count}, types)};
    CAPTURE(round, queries, keys, q, k, types);
    Cells expected(as_size(queries * keys));
    FactSeen overlap{ArrayFact::kSlicesOverlap, 0, {}};
    for (Index i = 0; i < queries; ++i)
      for (Index j = 0; j < keys; ++j) {
        Index times = 0;
        for (std::size_t s = 0; s < as_size(count); ++s)
          times += in_slice(std::span(q).subspan(2 * s, 2), std::span(k).subspan(2 * s, 2),
                            types[s], i, j);
        expected[as_size(i * keys + j)] = times > 0;
        if (times > 1 && overlap.count == 0) overlap.first = {0, 0, i, j};
        overlap.count += std::max<Index>(0, times - 1);
      }
    ArrayFacts facts;
    REQUIRE(cells_of(mask_from_slices(slices, queries, keys, kKeyBytes, facts)) == expected);
    REQUIRE(facts.size() == (overlap.count > 0 ? 1 : 0));
    if (overlap.count == 0) continue;
    REQUIRE(facts[0].count == overlap.count);
    REQUIRE(facts[0].first == overlap.first);
  }
}

TEST_CASE("flashmask: 1000 drawn limits mean what the reference of its tests draws") {
  std::mt19937 random(63);
  for (int round = 0; round < rounds(1000); ++round) {
    const auto pick = twin::pick_from(random);
    const bool causal = pick(0, 1) == 1;
    const Index n = pick(1, 30), columns = pick(0, 1) ? 2 : causal ? 1 : 4;
    Int64s limits;
    for (Index i = 0; i < n * columns; ++i) limits.push_back(pick(0, n + 2));
    Cells expected(as_size(n * n), 1);
    const bool has_end = columns == (causal ? 2 : 4);
    for (Index j = 0; j < n; ++j) {
      const auto limit = [&](Index i) { return limits[as_size(j * columns + i)]; };
      const auto close = [&](Index from, Index to) {
        for (Index i = from; i < std::min(to, n); ++i) expected[as_size(i * n + j)] = 0;
      };
      close(limit(0), has_end ? limit(1) : n);
      if (causal) close(0, j);
      if (!causal) close(has_end ? limit(2) : 0, has_end ? limit(3) : limit(1));
    }
    CAPTURE(round, causal, n, columns, limits);
    const Tensor array = int_tensor({1, 1, n, columns}, limits);
    REQUIRE(cells_of(mask_from_flashmask(array, causal, n, kKeyBytes)) == expected);
  }
}

TEST_CASE("intervals: 500 drawn endpoints, in any order, mean the union of their intervals") {
  std::mt19937 random(64);
  for (int round = 0; round < rounds(500); ++round) {
    const auto pick = twin::pick_from(random);
    const Index b = pick(1, 2), h = pick(1, 2), q = pick(0, 9), k = pick(0, 30);
    const Index n = 1 + 2 * pick(0, 3);
    Int64s ends;
    for (Index i = 0; i < h * n * b * q; ++i) ends.push_back(pick(0, k));
    Cells expected(as_size(b * h * q * k));
    const auto end = [&](Index head, Index i, Index row) {
      return i < 0 ? 0 : ends[as_size((head * n + i) * b * q + row)];
    };
    for (Index row = 0; row < b * q; ++row)
      for (Index head = 0; head < h; ++head)
        for (Index i = 0; i < n; i += 2)
          for (Index key = end(head, i - 1, row); key < end(head, i, row); ++key)
            expected[as_size(
                ((row / std::max<Index>(q, 1) * h + head) * q + row % std::max<Index>(q, 1)) * k +
                key)] = 1;
    CAPTURE(round, b, h, q, k, n, ends);
    const Tensor array = int_tensor({h, n, b * q}, ends);
    REQUIRE(cells_of(mask_from_intervals(array, b, q, k, kKeyBytes)) == expected);
  }
}

TEST_CASE("request bits: 500 drawn batches mean what FlashInfer's kernel reads") {
  std::mt19937 random(66);
  for (int round = 0; round < rounds(500); ++round) {
    const auto pick = twin::pick_from(random);
    const Index requests = pick(0, 4);
    Int64s q{0}, kv{0}, at{0};
    for (Index r = 0; r < requests; ++r) {
      q.push_back(q.back() + pick(0, 9)), kv.push_back(kv.back() + pick(0, 20));
      at.push_back(at.back() + ((q.back() - q.end()[-2]) * (kv.back() - kv.end()[-2]) + 7) / 8);
    }
    std::vector<std::uint8_t> packed(as_size(at.back()));
    Cells expected(as_size(q.back() * kv.back()));
    for (std::size_t r = 0; r < as_size(requests); ++r)
      for (Index i = q[r]; i < q[r + 1]; ++i)
        for (Index j = kv[r]; j < kv[r + 1]; ++j) {
          const bool open = pick(0, 1) == 1;
          const Index cell = (i - q[r]) * (kv[r + 1] - kv[r]) + j - kv[r];
          if (open) packed[as_size(at[r] + cell / 8)] |= static_cast<std::uint8_t>(1 << cell % 8);
          expected[as_size(i * kv.back() + j)] = open;
        }
    RequestBits bits{tensor_of(DType::kUInt8, {at.back()}, packed), int_tensor({requests + 1}, q),
                     int_tensor({requests + 1}, kv), int_tensor({requests + 1}, at)};
    CAPTURE(round, q, kv, at);
    REQUIRE(cells_of(mask_from_request_bits(bits, {}, {}, kKeyBytes)) == expected);
    bits.mask.reset();
    REQUIRE(cells_of(mask_from_request_bits(bits, {}, {}, kKeyBytes)) == expected);
  }
}

TEST_CASE("padded lengths: 500 drawn batches mean documents at their padded places") {
  std::mt19937 random(67);
  for (int round = 0; round < rounds(500); ++round) {
    const auto pick = twin::pick_from(random);
    const Index count = pick(0, 5);
    std::array<Int64s, 2> real{Int64s{0}, Int64s{0}}, padded = real;
    for (Index i = 0; i < count; ++i)
      for (std::size_t side = 0; side < 2; ++side) {
        const Index length = pick(0, 6);
        real[side].push_back(real[side].back() + length);
        padded[side].push_back(padded[side].back() + length + pick(0, 3));
      }
    Cells expected(as_size(padded[0].back() * padded[1].back()));
    for (std::size_t d = 0; d < as_size(count); ++d)
      for (Index i = 0; i < real[0][d + 1] - real[0][d]; ++i)
        for (Index j = 0; j < real[1][d + 1] - real[1][d]; ++j)
          expected[as_size((padded[0][d] + i) * padded[1].back() + padded[1][d] + j)] = 1;
    const auto array = [&](const Int64s& values) { return int_tensor({count + 1}, values); };
    const PaddedLengths lengths{array(real[0]), array(real[1]), array(padded[0]), array(padded[1])};
    CAPTURE(round, real, padded);
    REQUIRE(cells_of(mask_from_padded_lengths(lengths, {}, {})) == expected);
  }
}

TEST_CASE("kinds of sparse kernels: arrays that do not fit are refused in one line") {
  ArrayFacts facts;
  const auto slices = [&](const Tensor& q, const Tensor& k, std::optional<Tensor> types,
                          Index max_bytes = kKeyBytes) {
    return error_of([&] { mask_from_slices({q, k, types}, 8, 8, max_bytes, facts); });
  };
  const Tensor one = i32({1, 2}, {0, 4});
  CHECK(
      contains(slices(one, i32({2}, {0, 4}), {}), "k_ranges has the shape (2,); expected (N, 2)"));
  CHECK(contains(slices(one, i32({1, 2}, {0, 9}), {}), "k_ranges, slice 0: 0 to 9; expected"));
  CHECK(contains(slices(one, one, i32({4})), "attn_type_map, slice 0: 4; expected 0 (full)"));
  CHECK(contains(slices(one, one, i32({0, 0})), "q_ranges has 1 slices, k_ranges 1"));
  CHECK(contains(slices(one, one, {}, 8), "take more than 8 bytes"));

  const auto limits = [](const Tensor& array, bool causal, Index queries) {
    return error_of([&] { mask_from_flashmask(array, causal, queries, kKeyBytes); });
  };
  CHECK(contains(limits(i32({1, 1, 2, 4}, {0, 0, 0, 0, 0, 0, 0, -1}), false, 2),
                 "batch 0, head 0, key 1: the limit -1; expected 0 or more"));
  CHECK(contains(limits(i32({1, 1, 2, 1}, {0, 0}), false, 2), "expected (B, H, K, 4 or 2)"));
  CHECK(contains(limits(i32({1, 1, 2, 1}, {0, 0}), true, 3), "3 queries and 2 keys"));

  CHECK(contains(error_of([] {
                   mask_from_intervals(i32({1, 2, 2}, {0, 0, 0, 0}), 1, 2, 4, 99);
                 }),
                 "with N odd"));
  CHECK(contains(error_of([] {
                   mask_from_intervals(i32({1, 1, 2}, {0, 5}), 1, 2, 4, 99);
                 }),
                 "query 1, endpoint 0: 5; expected 0 to 4"));

  const auto bits = [](std::vector<std::int32_t> q, std::vector<std::int32_t> kv,
                       std::vector<std::int32_t> at, Index bytes, std::uint8_t value = 0) {
    Tensor packed(DType::kUInt8, {bytes});
    std::ranges::fill(packed.as<std::uint8_t>(), value);
    return error_of([&] {
      mask_from_request_bits({packed, i32(q), i32(kv), i32(at)}, {}, {}, kKeyBytes);
    });
  };
  CHECK(contains(bits({0, 4}, {0, 4}, {0, 16}, 16), "it counts cells, as plan() of FlashInfer"));
  CHECK(contains(bits({0, 4}, {0, 4}, {0, 2}, 1), "end past the 1 bytes"));
  CHECK(
      contains(bits({0, 4, 2}, {0, 4, 8}, {0, 2, 4}, 4), "qo_indptr falls from 4 to 2 at entry 2"));
  CHECK(contains(bits({0, 3}, {0, 3}, {0, 2}, 2, 0xFF), "bits behind its 9 cells are set"));
  CHECK(contains(bits({0, 0x7fffffff}, {0, 0x7fffffff}, {0, 2}, 2), "end past the 2 bytes"));
  CHECK(contains(bits({0, 4}, {0, 4, 8}, {0, 2}, 2), "kv_indptr 2, mask_indptr 1"));

  const auto trees = [](Index tokens, std::vector<std::int32_t> lens, std::uint64_t word) {
    const std::vector<std::uint64_t> rows(as_size(tokens), word);
    return error_of([&] {
      mask_from_tree_bits({tensor_of(DType::kUInt64, {tokens}, rows), i32(lens)});
    });
  };
  CHECK(contains(trees(65, {0, 65}, 0), "tree 0 has 65 tokens"));
  CHECK(contains(trees(3, {0, 2}, 0), "tree_mask_lens ends at 2; tree_mask has 3 rows"));
  CHECK(contains(trees(2, {0, 2}, 4), "tree 0, token 0: bits behind its 2 tokens are set"));
  const auto prefix = [](Index keys) {
    const Tensor row = tensor_of(DType::kUInt64, {1}, std::vector<std::uint64_t>{1});
    return error_of([&] { mask_from_tree_bits({row, i32({0, 1}), keys}); });
  };
  CHECK(contains(prefix(-1), "a prefix of -1 keys; expected at least 0"));
  CHECK(contains(prefix(Index{1} << 40), "a mask has at most 2147483647 keys"));
  const PlanePtr plane = rectangle(2, 3, {0, 2}, {0, 3});
  const Mask batch = Mask::make(2, 1, 2, 3, [&](Index, Index) { return plane; });
  CHECK(contains(error_of([&] { convert_mask(batch, {.kind = ArrayKind::kTreeBits}); }),
                 "trees that lie end to end share their prefix"));

  const auto padded = [](std::vector<std::int32_t> real, std::vector<std::int32_t> places) {
    return error_of([&] {
      mask_from_padded_lengths({i32(real), i32(real), i32(places), i32(places)}, {}, {});
    });
  };
  CHECK(contains(padded({0, 5, 9}, {0, 4, 9}), "document 0 has 5 queries, but 4 with its padding"));
  CHECK(
      contains(padded({0, 5, 9}, {0, 9}), "cu_seqlens_q_padded has the shape (2,); expected (3,)"));
  CHECK(contains(padded({0, 5, 4}, {0, 5, 9}), "cu_seqlens_q: cu_seqlens falls from 5 to 4"));
}
