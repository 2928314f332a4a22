// Tests what attention calls take from a MaskInfo and from lazy masks (the mask, segment ids,
// positions), on one device, on a ring and on shards.
#include "maskctl/ejkernel/calls/call_masks.h"

#include "attention/arrays.h"
#include "maskctl/ejkernel/runtime/modules.h"
#include "support/error_of.h"

namespace call_masks_cases {

namespace {

using namespace maskctl::attention_test;
using maskctl::test::error_of;

struct Arrays {
  Random random{3};
  Tensor query = random.normal({3, 12, 4, 8}), key = random.normal({3, 12, 2, 8});
  Tensor ids = random.integers({3, 12}, 3);

  std::int32_t id(Index b, Index i) const { return ids.as<std::int32_t>()[as_size(b * 12 + i)]; }
};

template <class Options>
void check_as(const MaskInfo& info, const Arrays& a, const Mask& expected, Options options = {}) {
  Options by_mask = options;
  by_mask.mask.mask = &expected;
  CallMask mask(info);
  mask.give(options);
  check_close(flash_attention(a.query, a.key, a.key, options).out,
              flash_attention(a.query, a.key, a.key, by_mask).out, 0, "out");
}

TEST_CASE("a call accepts a MaskInfo of ids, of a mask, and of a mask without a heads axis") {
  Arrays a;
  const Mask documents = mask_of_rule(
      3, 1, 12, 12, [&](Index b, Index, Index i, Index j) { return a.id(b, i) == a.id(b, j); });
  check_as<FlashAttentionOptions>(MaskInfo::from_segments(a.ids), a, documents);
  for (const Index heads : {1, 2, 4}) {
    const Mask random = a.random.mask(3, heads, 12, 12, 0.5);
    check_as<FlashAttentionOptions>(MaskInfo::from_attention_mask(MaskArray(random)), a, random);
  }
  MaskInfoFields stored;
  const Mask rows = a.random.mask(1, 3, 12, 12, 0.5);
  stored.attention_mask = MaskArray(rows, 3, DType::kBool);
  check_as<FlashAttentionOptions>(
      MaskInfo(stored), a,
      Mask::make(3, 1, 12, 12, [&](Index b, Index) { return rows.plane(0, b); }));
}

TEST_CASE("a MaskInfo closes further cells of a call that has a mask of its own") {
  Arrays a;
  const Mask one = a.random.mask(3, 4, 12, 12, 0.7), two = a.random.mask(3, 1, 12, 12, 0.7);
  const Mask both = zip(Op::kAnd, one, two);
  FlashAttentionOptions options;
  options.mask.mask = &one;
  CallMask mask(MaskInfo::from_attention_mask(MaskArray(two)));
  mask.give(options);
  FlashAttentionOptions expected;
  expected.mask.mask = &both;
  check_close(flash_attention(a.query, a.key, a.key, options).out,
              flash_attention(a.query, a.key, a.key, expected).out, 0, "out");
}

TEST_CASE("a MaskInfo of another batch size is refused") {
  Arrays a;
  const MaskInfo info = MaskInfo::from_segments(a.random.integers({2, 12}, 2));
  CallMask mask(info);
  FlashAttentionOptions options;
  mask.give(options);
  CHECK(error_of([&] { flash_attention(a.query, a.key, a.key, options); }).starts_with("mask is "));
}

TEST_CASE("blocksparse_attention counts positions inside the segments of a MaskInfo") {
  Arrays a;
  const Tensor query = a.random.normal({3, 4, 12, 8}), key = a.random.normal({3, 2, 12, 8});
  const auto since_change = [&](Index b, Index t) {
    Index first = t;
    while (first > 0 && a.id(b, first - 1) == a.id(b, t)) --first;
    return t - first;
  };
  const Mask expected = mask_of_rule(3, 1, 12, 12, [&](Index b, Index, Index i, Index j) {
    return a.id(b, i) == a.id(b, j) && since_change(b, j) <= since_change(b, i);
  });
  const MaskInfo info = MaskInfo::from_segments(a.ids);
  CallMask mask(info);
  BlocksparseAttentionOptions by_info, by_mask;
  mask.give(by_info);
  by_mask.mask.causal = false, by_mask.mask.mask = &expected;
  check_close(blocksparse_attention(query, key, key, by_info).out,
              blocksparse_attention(query, key, key, by_mask).out, 1e-6, "out");
  // Positions that the caller gives take precedence over those of the MaskInfo. If the MaskInfo
  // stores its mask, no positions are computed from its ids.
  const Tensor places = a.random.integers({3, 12}, 9);
  BlocksparseAttentionOptions own;
  own.mask.q_positions = own.mask.kv_positions = &places;
  CallMask again(info);
  again.give(own);
  CHECK(own.mask.q_positions == &places);
  MaskInfo read = info;
  read.attention_mask();
  CallMask with_mask(read);
  BlocksparseAttentionOptions stored;
  with_mask.give(stored);
  CHECK(stored.mask.q_positions == nullptr);
  CHECK(stored.mask.mask != nullptr);
}

TEST_CASE("a ring uses the ids of a MaskInfo with the segment padding of the call") {
  Arrays a;
  const MaskInfo info = MaskInfo::from_segments(a.ids);
  for (const SegmentPadding padding : {SegmentPadding::kNegative, SegmentPadding::kZero}) {
    RingAttentionOptions by_info, by_ids;
    by_info.ring_size = by_ids.ring_size = 3;
    by_info.mask.segment_padding = by_ids.mask.segment_padding = padding;
    CallMask mask(info);
    mask.give(by_info);
    by_ids.mask.q_segment_ids = by_ids.mask.kv_segment_ids = &a.ids;
    check_close(ring_attention(a.query, a.key, a.key, by_info).out,
                ring_attention(a.query, a.key, a.key, by_ids).out, 0, "out");
  }
  RingAttentionOptions other;
  other.axis_name = "ring";
  CallMask mask(info);
  CHECK(error_of([&] { mask.give(other); }) ==
        "ring_attention: the sequence axis of the MaskInfo is 'sp', but axis_name is 'ring'; give "
        "one name to both");
}

TEST_CASE("a call over a mesh splits its MaskInfo like its arrays") {
  Arrays a;
  const Tensor query = a.random.normal({4, 9, 4, 8}), key = a.random.normal({4, 9, 2, 8});
  const MaskInfo segments = MaskInfo::from_segments(a.random.integers({4, 9}, 3));
  const MaskInfo dense = MaskInfo::from_attention_mask(MaskArray(a.random.mask(4, 1, 9, 9, 0.6)));
  const PartitionSpec tokens{{std::string("dp"), {}, std::string("tp"), {}}};
  CallOptions split;
  split.mesh = mesh_from_text("dp=2+tp=2");
  split.in_specs = {tokens, tokens, tokens};
  split.out_specs = {tokens};
  Runtime runtime({.cache_miss = CacheMiss::kHeuristics});
  for (const MaskInfo* info : {&segments, &dense}) {
    FlashAttentionOptions options;
    CallMask mask(*info);
    mask.give(options);
    const QkvInputs inputs{&query, &key, &key};
    check_close(runtime.call<FlashAttentionOp>(inputs, options, split).out,
                flash_attention(query, key, key, options).out, 2e-6, "out");
  }
}

TEST_CASE("blocksparse_attention accepts lazy masks, and functions that build them") {
  const Arrays a;
  const lazy::MaskPtr window = lazy::local_mask({12, 12}, {2, 1}, 0);
  const StaticMask one = static_mask(window);
  const StaticMask heads = static_mask(lazy::multi_head_mask({window, window, window}));
  REQUIRE(one);
  CHECK(heads->heads() == 3);
  CHECK(static_mask(nullptr) == nullptr);
  for (Index i = 0; i < 12; ++i) {
    for (Index j = 0; j < 12; ++j) {
      const bool open = i - 2 <= j && j <= i + 1;
      CHECK((one->plane(0, 0)->classify({i, i + 1}, {j, j + 1}) == Fill::kFull) == open);
      CHECK((heads->plane(0, 2)->classify({i, i + 1}, {j, j + 1}) == Fill::kFull) == open);
    }
  }
  const MaskBuilder build =
      mask_builder([](Index q_len, Index kv_len, Index, Index head, Index) -> lazy::MaskPtr {
        return head == 1 ? nullptr : lazy::causal_mask({q_len, kv_len}, head);
      });
  CHECK(build(5, 7, 2, 1, 1) == nullptr);
  CHECK(build(5, 7, 2, 0, 1)->count() == 15);
}

}  // namespace

}  // namespace call_masks_cases
