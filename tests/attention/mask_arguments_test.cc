// Compares masks composed from mask arguments (windows, segments, lengths, ...) with a rule for
// each cell.
#include "maskctl/attention/softmax/mask_arguments.h"

#include "attention/arrays.h"
#include "support/error_of.h"

namespace mask_arguments_cases {

namespace {

using namespace maskctl::attention_test;

constexpr MaskExtents kExtents{3, 4, 2, 9, 11};

using Rule = std::function<bool(Index b, Index h, Index i, Index j)>;

void check_mask(const MaskArguments& arguments, const MaskExtents& x, const Rule& open) {
  const Mask seen = compose(arguments, x).mask;
  for (Index b = 0; b < x.batch; ++b) {
    for (Index h = 0; h < x.q_heads; ++h) {
      for (Index i = 0; i < x.queries; ++i) {
        for (Index j = 0; j < x.keys; ++j) {
          const bool is_open = seen.plane(b, h)->classify({i, i + 1}, {j, j + 1}) == Fill::kFull;
          if (is_open != open(b, h, i, j)) {
            FAIL("cell " << b << " " << h << " " << i << " " << j << " is " << is_open);
          }
        }
      }
    }
  }
}

void check_refused(const MaskArguments& arguments, const std::string& text,
                   const MaskExtents& x = kExtents) {
  const std::string seen = maskctl::test::error_of([&] { compose(arguments, x); });
  INFO(seen);
  CHECK(seen.find(text) != std::string::npos);
}

}  // namespace

TEST_CASE("without mask arguments every cell is open") {
  check_mask({}, kExtents, [](Index, Index, Index, Index) { return true; });
}

TEST_CASE("causal, window and sink tokens open the right cells in both alignments") {
  for (const MaskExtents x : {MaskExtents{1, 1, 1, 9, 12}, MaskExtents{1, 1, 1, 12, 9}}) {
    for (const Align align : {Align::kUnset, Align::kTopLeft, Align::kBottomRight}) {
      for (const bool causal : {false, true}) {
        for (const std::optional<Window>& window :
             {std::optional<Window>(), std::optional<Window>(2), std::optional<Window>({4, 1}),
              std::optional<Window>({std::nullopt, 3}), std::optional<Window>({0, std::nullopt})}) {
          for (const Index sinks : {0, 2, 100}) {
            MaskArguments a;
            a.causal = causal, a.window = window, a.align = align, a.sink_tokens = sinks;
            const Index shift = align == Align::kBottomRight ? x.keys - x.queries : 0;
            check_mask(a, x, [&](Index, Index, Index i, Index j) {
              const Index gap = j - i - shift;
              const bool in_window = !window || j < sinks ||
                                     ((!window->left || gap >= -*window->left) &&
                                      (!window->right || gap <= *window->right));
              return in_window && (!causal || gap <= 0);
            });
          }
        }
      }
    }
  }
}

TEST_CASE("chunks and causal blocks open the right cells") {
  for (const MaskExtents x :
       {MaskExtents{1, 1, 1, 13, 13}, MaskExtents{1, 1, 1, 7, 12}, MaskExtents{1, 1, 1, 12, 7}}) {
    for (Index c = 1; c < 15; ++c) {
      MaskArguments chunked, blocked;
      chunked.chunk_size = c;
      check_mask(chunked, x,
                 [c](Index, Index, Index i, Index j) { return i / c == j / c && j <= i; });
      blocked.causal_block_size = c;
      check_mask(blocked, x,
                 [c](Index, Index, Index i, Index j) { return (i / c + 1) * c - 1 > (j / c) * c; });
    }
  }
}

TEST_CASE(
    "masks over keys, batches, key heads and query heads open the right cells, as arrays and "
    "lazy") {
  Random r(1);
  const MaskExtents& x = kExtents;
  const Tensor keys = r.flags({3, 11}, 0.6);
  MaskArguments a;
  a.attention_mask = &keys;
  check_mask(a, x, [&](Index b, Index, Index, Index j) {
    return keys.as<std::uint8_t>()[as_size(b * 11 + j)] != 0;
  });
  for (const Index batch : {1, 3}) {
    for (const Index heads : {1, 2, 4}) {
      const Tensor array = astype(r.flags({batch, heads, 9, 11}, 0.5), DType::kInt32);
      const Mask lazy = mask_from_dense(array);
      const Rule rule = [&](Index b, Index h, Index i, Index j) {
        const Index of_head = h / (4 / heads);
        return array.as<std::int32_t>()[as_size(
                   (((batch == 1 ? 0 : b) * heads + of_head) * 9 + i) * 11 + j)] != 0;
      };
      MaskArguments by_array, by_mask;
      by_array.attention_mask = &array;
      check_mask(by_array, x, rule);
      by_mask.mask = &lazy;
      check_mask(by_mask, x, rule);
    }
  }
}

TEST_CASE(
    "block masks, shared or for each head and batch, open the right cells, and so does a block "
    "map") {
  Random r(2);
  const MaskExtents& x = kExtents;
  for (const std::vector<Index>& lead : {std::vector<Index>{}, {4}, {2}, {3, 1}, {3, 4}, {1, 2}}) {
    std::vector<Index> shape = lead;
    shape.insert(shape.end(), {3, 3});  // blocks of 4 tokens: ceil(9 / 4) x ceil(11 / 4)
    const Tensor map = r.flags(shape, 0.5);
    const Index heads = lead.empty() ? 1 : lead.back(), batch = lead.size() == 2 ? lead[0] : 1;
    MaskArguments a;
    a.block_mask = &map;
    a.block_size = 4;
    check_mask(a, x, [&](Index b, Index h, Index i, Index j) {
      const Index plane = (batch == 1 ? 0 : b) * heads + h / (4 / heads);
      return map.as<std::uint8_t>()[as_size(plane * 9 + i / 4 * 3 + j / 4)] != 0;
    });
  }
  const Mask one = r.mask(1, 1, 9, 11, 0.5);
  const BlockMap map(one.plane(0, 0), 4, 4);
  MaskArguments a;
  a.block_map = &map;
  check_mask(a, x, [&](Index, Index, Index i, Index j) {
    return one.plane(0, 0)->classify({i, i + 1}, {j, j + 1}) == Fill::kFull;
  });
}

TEST_CASE("segment ids open the right cells with either padding, shared or for each batch") {
  Random r(3);
  const MaskExtents& x = kExtents;
  for (const SegmentPadding padding : {SegmentPadding::kNegative, SegmentPadding::kZero}) {
    for (const Index rows : {1, 3}) {
      Tensor q = r.integers({rows, 9}, 5), kv = r.integers({3, 11}, 5);
      for (Tensor* ids : {&q, &kv}) {
        for (auto& id : ids->as<std::int32_t>()) id -= 2;  // ids from -2 to 2
      }
      MaskArguments a;
      a.q_segment_ids = &q, a.kv_segment_ids = &kv, a.segment_padding = padding;
      check_mask(a, x, [&](Index b, Index, Index i, Index j) {
        const auto of_q = q.as<std::int32_t>()[as_size((rows == 1 ? 0 : b) * 9 + i)];
        const auto of_k = kv.as<std::int32_t>()[as_size(b * 11 + j)];
        return of_q == of_k && (padding == SegmentPadding::kZero ? of_q != 0 : of_q >= 0);
      });
    }
  }
}

TEST_CASE("causal and window compare positions if these are given") {
  Random r(4);
  const MaskExtents& x = kExtents;
  for (unsigned seed = 0; seed < 20; ++seed) {
    Tensor q = r.integers({3, 9}, 12), kv = r.integers({1, 11}, 12);
    if (seed % 2) std::sort(kv.as<std::int32_t>().begin(), kv.as<std::int32_t>().end());
    MaskArguments a;
    a.q_positions = &q, a.kv_positions = &kv;
    a.causal = r.chance(0.5);
    if (r.chance(0.5)) a.window = Window(r.below(5), r.below(5));
    if (r.chance(0.3)) a.sink_tokens = 3;
    check_mask(a, x, [&](Index b, Index, Index i, Index j) {
      const Index gap =
          kv.as<std::int32_t>()[as_size(j)] - q.as<std::int32_t>()[as_size(b * 9 + i)];
      return (!a.causal || gap <= 0) && (!a.window || j < a.sink_tokens ||
                                         (gap >= -*a.window->left && gap <= *a.window->right));
    });
  }
}

TEST_CASE("key lengths close keys, and query lengths close queries") {
  const Tensor q = i32({9, 0, 5}), k = i32({11, 3, 0});
  MaskArguments a;
  a.query_lengths = &q, a.key_lengths = &k;
  check_mask(a, kExtents, [&](Index b, Index, Index i, Index j) {
    return i < q.as<std::int32_t>()[as_size(b)] && j < k.as<std::int32_t>()[as_size(b)];
  });
  CHECK(compose(a, kExtents).query_ends == std::vector<Index>{9, 0, 5});
}

TEST_CASE("cumulative lengths separate sequences, and causal and window apply inside each") {
  Random r(5);
  for (unsigned seed = 0; seed < 200; ++seed) {
    const bool packed = seed % 2 == 0;
    std::vector<std::int32_t> q{0}, k{0};
    for (int n = 0; n < 3; ++n) {
      q.push_back(q.back() + static_cast<std::int32_t>(r.below(6)));
      k.push_back(k.back() + static_cast<std::int32_t>(r.below(6)));
    }
    const MaskExtents x = packed
                              ? MaskExtents{1, 1, 1, q.back() + r.below(3), k.back() + r.below(3)}
                              : MaskExtents{3, 1, 1, 6, 6};
    const Tensor cum_q = i32(q), cum_k = i32(k);
    MaskArguments a;
    a.cum_seqlens_q = &cum_q, a.cum_seqlens_k = &cum_k;
    a.causal = r.chance(0.5);
    if (r.chance(0.6)) a.window = Window(r.below(4), r.below(4));
    a.align = r.chance(0.3) ? Align::kTopLeft : Align::kUnset;
    if (r.chance(0.3)) a.sink_tokens = 4;
    INFO("seed " << seed);
    check_mask(a, x, [&](Index b, Index, Index i, Index j) {
      for (std::size_t n = 0; n < 3; ++n) {
        if (!packed && static_cast<Index>(n) != b) continue;
        const Index row = packed ? i - q[n] : i, column = packed ? j - k[n] : j;
        const Index rows = q[n + 1] - q[n], columns = k[n + 1] - k[n];
        if (row < 0 || row >= rows || column < 0 || column >= columns) continue;
        const Index gap = column - row - (a.align == Align::kTopLeft ? 0 : columns - rows);
        return (!a.causal || gap <= 0) && (!a.window || j < a.sink_tokens ||
                                           (gap >= -*a.window->left && gap <= *a.window->right));
      }
      return false;
    });
    const std::vector<Index> ends = compose(a, x).query_ends;
    CHECK(ends ==
          (packed ? std::vector<Index>{q[3]} : std::vector<Index>{q[1], q[2] - q[1], q[3] - q[2]}));
  }
}

TEST_CASE("batch entries with equal masks are stored as one") {
  const Tensor equal = i32({5, 5, 5}), other = i32({5, 4, 5}), none(DType::kInt32, {0});
  MaskArguments a;
  a.causal = true, a.window = 3;
  CHECK(compose(a, kExtents).mask.batch() == 1);
  a.query_lengths = a.key_lengths = &equal;
  CHECK(compose(a, kExtents).mask.batch() == 1);
  a.key_lengths = &other;
  CHECK(compose(a, kExtents).mask.batch() == 3);
  CHECK(compose(a, kExtents).mask.distinct().size() == 2);
  a.query_lengths = a.key_lengths = &none;
  CHECK(compose(a, {0, 4, 2, 9, 11}).mask.batch() == 0);
}

TEST_CASE("a cell is open only if all arguments open it") {
  Random r(6);
  const Tensor array = r.flags({3, 2, 9, 11}, 0.8);
  const Tensor lengths = i32({11, 7, 4});
  MaskArguments a;
  a.attention_mask = &array, a.key_lengths = &lengths, a.causal = true, a.window = 5;
  check_mask(a, kExtents, [&](Index b, Index h, Index i, Index j) {
    return array.as<std::uint8_t>()[as_size(((b * 2 + h / 2) * 9 + i) * 11 + j)] != 0 &&
           j < lengths.as<std::int32_t>()[as_size(b)] && j <= i && i - j <= 5;
  });
}

TEST_CASE("a mask of a million tokens is composed without a dense array") {
  const Tensor cum = i32({0, 300'000, 300'000, 1'000'000});
  MaskArguments a;
  a.cum_seqlens_q = &cum, a.cum_seqlens_k = &cum, a.causal = true, a.window = 4095;
  const Mask mask = compose(a, {1, 8, 8, 1'000'000, 1'000'000}).mask;
  CHECK(mask.plane(0, 0)->bytes() < 100'000);
  CHECK(mask.plane(0, 0)->count({500'000, 500'001}, {0, 1'000'000}) == 4096);
  CHECK(mask.plane(0, 0)->count({300'010, 300'011}, {0, 1'000'000}) == 11);
}

TEST_CASE("errors about mask arguments that do not fit name the argument") {
  const auto with = [](auto&& set) {
    MaskArguments a;
    set(a);
    return a;
  };
  const Tensor keys(DType::kBool, {3, 10}), cube(DType::kBool, {2, 9, 11});
  check_refused(with([&](auto& a) { a.attention_mask = &keys; }),
                "attention_mask is (3, 10), expected (3, 11)");
  check_refused(with([&](auto& a) { a.attention_mask = &cube; }), "attention_mask is [B 2, H 1");
  check_refused(with([](auto& a) { a.window = Window(-1, 2); }), "sliding_window reaches -1");
  check_refused(with([](auto& a) { a.chunk_size = 0; }), "chunk_size 0 is below 1");
  check_refused(with([](auto& a) { a.causal_block_size = -2; }), "causal_block_size -2");
  check_refused(with([](auto& a) { a.sink_tokens = -1; }), "attention_sink_size -1");
  const Tensor map(DType::kBool, {3, 2}), numbers(DType::kInt32, {3, 3});
  check_refused(with([&](auto& a) { a.block_mask = &map, a.block_size = 4; }),
                "block_mask is (3, 2), expected [B, H, 3, 3] for blocks of 4");
  check_refused(with([&](auto& a) { a.block_mask = &numbers; }), "block_mask is int32");
  check_refused(with([&](auto& a) { a.block_mask = &map, a.block_size = 0; }), "block_size 0");
  const Tensor long_lengths = i32({11, 12, 0}), few = i32({1, 2});
  check_refused(with([&](auto& a) { a.key_lengths = &long_lengths; }),
                "key_lengths[1] is 12, expected 0 to 11");
  check_refused(with([&](auto& a) { a.query_lengths = &few; }), "query_lengths are (2,)");
  const Tensor falling = i32({0, 5, 3, 9}), late = i32({1, 5, 9}), cum = i32({0, 4, 9, 11}),
               beyond = i32({0, 10, 11, 12});
  check_refused(with([&](auto& a) { a.cum_seqlens_q = &cum; }), "one without the other");
  check_refused(with([&](auto& a) { a.cum_seqlens_q = &cum, a.cum_seqlens_k = &falling; }),
                "falls");
  check_refused(with([&](auto& a) { a.cum_seqlens_q = &late, a.cum_seqlens_k = &cum; }), "0");
  check_refused(with([&](auto& a) { a.cum_seqlens_q = &beyond, a.cum_seqlens_k = &cum; }),
                "sequence 0");
  const MaskExtents other_batch{2, 4, 2, 9, 11};
  check_refused(with([&](auto& a) { a.cum_seqlens_q = a.cum_seqlens_k = &cum; }),
                "3 sequences in a batch of 2", other_batch);
  check_refused(with([&](auto& a) { a.kv_segment_ids = &keys; }), "without q_segment_ids");
  check_refused(with([&](auto& a) { a.q_positions = &few; }), "one without the other");
}

}  // namespace mask_arguments_cases
