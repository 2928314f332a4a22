// Tests MaskInfo with a million tokens, where no dense mask could exist.
#include <numeric>

#include "ejkernel/mask_info/info_support.h"
#include "maskctl/base/error.h"

namespace maskctl::info_test {
namespace {

constexpr Index kTokens = Index{1} << 20;

Index bytes_of(const MaskArray& array) {
  const Mask mask = array.mask();
  return std::accumulate(mask.distinct().begin(), mask.distinct().end(), Index{0},
                         [](Index sum, const PlanePtr& plane) { return sum + plane->bytes(); });
}

/// Returns ids of documents of 1000 tokens, and of padding for the last 100.
Tensor documents() {
  Tensor ids(DType::kInt32, {1, kTokens});
  for (Index i = 0; i < kTokens; ++i) {
    ids.as<std::int32_t>()[static_cast<std::size_t>(i)] =
        i < kTokens - 100 ? static_cast<std::int32_t>(i / 1000) : -1;
  }
  return ids;
}

TEST_CASE("a chain over a million tokens stores no array of queries x keys") {
  MaskInfo info = MaskInfo::from_segments(documents())
                      .apply_causal()
                      .apply_sliding_window(std::pair<Index, Index>{255, 0})
                      .apply_chunked(4096);
  const MaskArray& mask = info.attention_mask();
  CHECK(mask.lazy());
  CHECK(bytes_of(mask) < Index{64} << 20);
  const Mask cells = mask.mask();
  // Compares some queries with the rule in plain arithmetic.
  for (const Index q : {Index{0}, Index{999}, Index{1000}, Index{4099}, Index{500'123}}) {
    const Index first = std::max({q - 255, q / 1000 * 1000, q / 4096 * 4096});
    CHECK(cells.plane(0, 0)->count({q, q + 1}, {0, kTokens}) == q - first + 1);
    CHECK(cells.plane(0, 0)->count({q, q + 1}, {first, q + 1}) == q - first + 1);
  }
  CHECK(cells.plane(0, 0)->count({kTokens - 100, kTokens}, {0, kTokens}) == 0);
  CHECK_THROWS_AS(mask.tensor(), Error);
  CHECK_THROWS_AS(info.bias(), Error);
}

TEST_CASE("a decode slice of a million tokens has one row") {
  MaskInfo info = MaskInfo::from_segments(documents()).apply_causal();
  MaskInfo one = info.apply_sliding_window(Index{128}, {.mode = "decode", .index = Index{70'500}});
  // The slice has keys 70372 to 70628, all in document 70 (70000 to 70999); open are those up to
  // the query.
  check_cells(one.attention_mask(), {1, 1, 1, 257},
              [](Index, Index, Index, Index k) { return k <= 128; });
  CHECK(values(one.kv_segment_ids()) == Values(257, 70));
  MaskInfo last = info.apply_kv_lengths(list({500'000}), {.q_len = 2, .sliding_window = 1500});
  check_cells(last.attention_mask(), {1, 1, 2, 1500}, [](Index, Index, Index q, Index k) {
    // The slice of keys begins at key 498500. The document of both queries begins at key 499000,
    // which has index 500 in the slice.
    return k >= 500 && k <= 1498 + q;
  });
}

TEST_CASE("a random mask of a million tokens is only made when it is read") {
  MaskInfo info = MaskInfo::from_random(4, kTokens, {}, 0.75, 3).apply_causal();
  CHECK(info.attention_mask().lazy());
  CHECK(bytes_of(info.attention_mask()) < Index{1} << 20);
  MaskInfo small =
      info.apply_kv_lengths(i32({4}, {100, 200, 300, 400}), {.q_len = 1, .sliding_window = 64});
  CHECK(small.attention_mask().shape() == Shape{4, 1, 1, 64});
  const Index open = small.attention_mask().mask().count();
  CHECK(open > 0);
  CHECK(open < 4 * 64);
}

TEST_CASE("offsets for each batch entry make one plane for each distinct offset") {
  MaskInfo info = MaskInfo::from_segments(i32({4, 64}, Values(256, 0)));
  MaskInfo causal = info.apply_causal(list_array({0, 3, 0, 3}));
  CHECK(causal.attention_mask().mask().distinct().size() == 2);
  check_cells(causal.attention_mask(), {4, 1, 64, 64},
              [](Index b, Index, Index q, Index k) { return k <= q + (b % 2 ? 3 : 0); });
  MaskInfo rows = causal.apply_sliding_window(
      Index{2}, {.mode = "decode", .index = PerBatch(list_array({10, 10, 10, 99}))});
  CHECK(rows.attention_mask().mask().distinct().size() == 3);
}

}  // namespace
}  // namespace maskctl::info_test
