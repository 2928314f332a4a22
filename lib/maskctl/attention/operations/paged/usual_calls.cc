// Sequence lengths and page tables of typical paged calls.
#include <algorithm>
#include <numeric>
#include <random>

#include "maskctl/attention/operations/paged/spec.h"

namespace maskctl::attention {
namespace {

constexpr Index kPageSize = 16;

Tensor integers(std::vector<Index> shape, const std::vector<Index>& values) {
  Tensor out(DType::kInt32, std::move(shape));
  std::ranges::transform(values, out.as<std::int32_t>().begin(),
                         [](Index value) { return static_cast<std::int32_t>(value); });
  return out;
}

/// An array with `value` for each of `count` sequences.
Tensor of_each(Index count, Index value) {
  return integers({count}, std::vector<Index>(as_size(count), value));
}

/// The pages of B sequences of T tokens, scattered at random over the cache.
struct Pages {
  explicit Pages(const AxisExtents& extents)
      : sequences(extents.at("B")),
        tokens(extents.at("T")),
        each(ceil_div(tokens, kPageSize)),
        order(as_size(sequences * each)) {
    std::iota(order.begin(), order.end(), Index{0});
    std::ranges::shuffle(order, std::mt19937_64(1));
  }
  void add_extents(AxisExtents& extents) const {
    extents["pages"] = static_cast<Index>(order.size());
    extents["page_size"] = kPageSize;
  }

  Index sequences, tokens, each;
  std::vector<Index> order;
};

/// Row starts of a prefill, where every token of every sequence is a query. Sets the extent T to
/// the total number of rows.
Tensor prefill(const Pages& pages, AxisExtents& extents) {
  extents["T"] = pages.sequences * pages.tokens;
  std::vector<Index> starts;
  for (Index n = 0; n <= pages.sequences; ++n) starts.push_back(n * pages.tokens);
  return integers({pages.sequences + 1}, starts);
}

}  // namespace

UsualCall PageAttentionOp::usual_call(AxisExtents extents) {
  const Pages pages(extents);
  pages.add_extents(extents);
  return {std::move(extents),
          {{"context_lens", of_each(pages.sequences, pages.tokens)},
           {"block_tables", integers({pages.sequences, pages.each}, pages.order)}},
          {{"kv_layout", "heads_first"}}};
}

UsualCall RaggedPageAttentionOp::usual_call(AxisExtents extents) {
  const Pages pages(extents);
  pages.add_extents(extents);
  Tensor starts = prefill(pages, extents);
  return {std::move(extents),
          {{"context_lens", of_each(pages.sequences, pages.tokens)},
           {"block_tables", integers({pages.sequences, pages.each}, pages.order)},
           {"query_start_loc", std::move(starts)}}};
}

UsualCall RaggedPageAttentionv3Op::usual_call(AxisExtents extents) {
  constexpr Index kDpadStep = 128;
  const Pages pages(extents);
  pages.add_extents(extents);
  extents["packing"] = 1;  // packing of f32
  extents["Dpad"] = ceil_div(extents.at("D"), kDpadStep) * kDpadStep;
  Tensor starts = prefill(pages, extents);
  return {std::move(extents),
          {{"kv_lens", of_each(pages.sequences, pages.tokens)},
           {"block_tables", integers({std::ssize(pages.order)}, pages.order)},
           {"query_start_loc", std::move(starts)},
           {"distribution", integers({3}, {0, 0, pages.sequences})}}};
}

UsualCall RaggedDecodeAttentionOp::usual_call(AxisExtents extents) {
  const Index sequences = extents.at("B"), keys = extents.at("S");
  return {std::move(extents),
          {{"sequence_start", of_each(sequences, 0)}, {"sequence_end", of_each(sequences, keys)}}};
}

}  // namespace maskctl::attention
