// Composes mask arguments: translates them into a chain of mask steps.
#include "maskctl/attention/softmax/mask_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/softmax/array_masks.h"
#include "maskctl/attention/softmax/call_tokens.h"
#include "maskctl/mask/steps/block_causal.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/combine.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/field.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/kv_lengths.h"
#include "maskctl/mask/steps/positions.h"
#include "maskctl/mask/steps/query_lengths.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/mask/steps/within.h"

namespace maskctl::attention {
namespace {

struct MaskCall {
  const MaskArguments& arguments;
  const MaskExtents& extents;
  CallLengths lengths;
};

/// A step that keeps the keys from `left` before to `right` after the query. Distances are in
/// positions if the call has them, else relative to the sequence, else in indices.
Step near(const MaskCall& call, std::optional<Index> left, std::optional<Index> right) {
  const auto& [a, x, lengths] = call;
  if (a.q_positions) {
    return step::Positions{int32_tokens(*a.q_positions, x.batch, x.queries, "q_positions"),
                           int32_tokens(*a.kv_positions, x.batch, x.keys, "kv_positions"), left,
                           right};
  }
  const Align usual = lengths.cumulative ? Align::kBottomRight : Align::kTopLeft;
  step::Window window{left, right, a.align == Align::kUnset ? usual : a.align};
  if (lengths.packed) {
    step::Within sequences{.lengths = lengths.queries, .kv_lengths = lengths.keys, .chain = {}};
    sequences.chain.push_back(std::move(window));
    return sequences;
  }
  if (lengths.cumulative && window.align == Align::kBottomRight) {
    std::vector<Index> shifts = lengths.keys;
    std::ranges::transform(shifts, lengths.queries, shifts.begin(), std::minus<>());
    window.align = Align::kTopLeft;
    window.offsets = fields::numbers(shifts);
  }
  return window;
}

/// Segment ids. Where any negative id means padding, every negative id becomes -1.
NamedArray segment_ids(const Tensor& array, const MaskArguments& a, const MaskExtents& x,
                       Index length, const char* what) {
  NamedArray ids = int32_tokens(array, x.batch, length, what);
  if (a.segment_padding == SegmentPadding::kZero) return ids;
  for (std::int32_t& id : ids.array.as<std::int32_t>()) id = std::max(id, -1);
  return ids;
}

Step documents(const MaskArguments& a, const MaskExtents& x) {
  if (!a.q_segment_ids) refuse("kv_segment_ids are given without q_segment_ids");
  step::Document rule;
  rule.pad_id = a.segment_padding == SegmentPadding::kZero ? 0 : -1;
  rule.q = segment_ids(*a.q_segment_ids, a, x, x.queries, "q_segment_ids");
  rule.shared = !a.kv_segment_ids;
  if (rule.shared) {
    check_tokens(*a.q_segment_ids, x.batch, x.keys, "q_segment_ids (of keys too)");
  } else {
    rule.kv = segment_ids(*a.kv_segment_ids, a, x, x.keys, "kv_segment_ids");
  }
  return rule;
}

/// The steps for causal, window and the sink tokens inside windows.
Chain diagonals(const MaskCall& call) {
  const MaskArguments& a = call.arguments;
  Chain chain;
  Window window = a.window.value_or(Window(std::nullopt, std::nullopt));
  for (const std::optional<Index>& side : {window.left, window.right}) {
    if (!side || *side >= 0) continue;
    refuse(
        fmt::format("sliding_window reaches {} keys to one side; expected 0 or more, or none "
                    "for no limit",
                    *side));
  }
  if (a.sink_tokens < 0) refuse(fmt::format("attention_sink_size {} is below 0", a.sink_tokens));
  if (!a.q_positions != !a.kv_positions) {
    refuse("q_positions and kv_positions are given one without the other");
  }
  if (a.window && a.sink_tokens > 0) {
    chain.push_back(near(call, window.left, window.right));
    chain.push_back(step::Sinks{a.sink_tokens});
    window = {std::nullopt, std::nullopt};
  }
  chain.push_back(near(call, window.left, a.causal ? 0 : window.right));
  return chain;
}

Index at_least_one(Index value, const char* what) {
  if (value < 1) refuse(fmt::format("{} {} is below 1", what, value));
  return value;
}

/// All arguments as steps, in the order of application.
Chain chain_of(const MaskCall& call) {
  const auto& [a, x, lengths] = call;
  Chain chain = diagonals(call);
  const auto add = [&chain](auto rule) { chain.push_back(std::move(rule)); };
  const auto keep = [&add](Mask mask) { add(step::Combine{Op::kAnd, std::move(mask), {}}); };
  if (a.chunk_size) {
    add(step::Chunk{at_least_one(*a.chunk_size, "chunk_size")});
    add(step::Causal{Align::kTopLeft, {}});
  }
  if (a.causal_block_size) {
    // In blocks of one token a query does not see its own key.
    const Index size = at_least_one(*a.causal_block_size, "causal_block_size");
    if (size == 1) {
      add(step::Causal{Align::kTopLeft, fields::numbers({-1})});
    } else {
      add(step::BlockCausal{.size = size});
    }
  }
  const bool in_rows = !lengths.packed;
  if (in_rows && !lengths.queries.empty())
    add(step::QueryLengths{fields::numbers(lengths.queries)});
  if (in_rows && !lengths.keys.empty()) add(step::KvLengths{fields::numbers(lengths.keys)});
  if (a.q_segment_ids || a.kv_segment_ids) add(documents(a, x));
  if (a.block_mask) keep(block_mask(*a.block_mask, a.block_size, x));
  if (a.block_map) keep(fit(Mask(a.block_map->plane()), x, "block_map"));
  if (a.mask) keep(fit(*a.mask, x, "mask"));
  if (a.attention_mask) keep(array_mask(*a.attention_mask, x));
  return chain;
}

/// If all batch rows have the same planes, the mask with a batch of 1; otherwise the mask itself.
Mask shared_rows(const Mask& mask) {
  for (Index b = 1; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) {
      if (mask.index_of(b, h) != mask.index_of(0, h)) return mask;
    }
  }
  if (mask.batch() < 2) return mask;
  return Mask::make(1, mask.heads(), mask.queries(), mask.keys(),
                    [&](Index, Index h) { return mask.plane(0, h); });
}

}  // namespace

ComposedMask compose(const MaskArguments& a, const MaskExtents& x) {
  const MaskCall call{a, x, call_lengths(a, x)};
  const Mask all = full_mask(x.batch, 1, x.queries, x.keys);
  const Chain chain = chain_of(call);
  const Mask mask = maskctl::apply(all, std::span<const Step>(chain));
  return {shared_rows(mask), query_ends(call.lengths)};
}

}  // namespace maskctl::attention
