// Which token each row and each column is, for the steps take and at; private to mask.
#pragma once

#include <array>
#include <concepts>
#include <vector>

#include "maskctl/mask/planes/taken.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/take.h"

namespace maskctl::step {

/// The indices of one side: numbers [S] or [B,S], or ranges of which each `stride`-th token counts.
/// With neither, all tokens as they are.
struct GivenIndices {
  const NamedArray& array;
  const std::vector<Range>& ranges;
  Index stride = 1;

  bool is_given() const { return !array.empty() || !ranges.empty(); }
  Index batch() const { return array.array.rank() == 2 ? array.array.extent(0) : 1; }
  /// The indices of batch entry b, of `extent` tokens. Throws Error(kInvalidArgument) for others
  /// than 0 to extent - 1, `side` ("queries") being what they name.
  Indices of(Index b, Index extent, std::string_view step, std::string_view side) const;
  /// One of them, without the others.
  Index at(Index b, Index place) const;
  /// The greatest index and 1; 0 if none is given.
  Index end() const;
  /// All of them as an array; see query_tokens().
  std::optional<Tensor> all(Index most) const;
};

/// Rows and columns of a mask by index. Refuses batch entries that do not broadcast.
Mask taken_of(const Mask& mask, const GivenIndices& q, const GivenIndices& kv,
              std::string_view step);
std::optional<Misfit> misfit_of(const GivenIndices& q, const GivenIndices& kv);

inline GivenIndices queries_of(const TokenIndices& rule) {
  return {rule.q, rule.queries, rule.stride};
}
inline GivenIndices keys_of(const TokenIndices& rule) { return {rule.kv, rule.keys, rule.stride}; }

/// The arguments of a rule that has indices.
template <std::derived_from<TokenIndices> Rule>
constexpr auto index_fields() {
  return std::array{
      fields::of<&Rule::q, Rule>({.name = "q",
                                  .type = FieldType::kSource,
                                  .help = "the token that each query is, [S] or [B,S]",
                                  .group = 1,
                                  .stem = "indices"}),
      fields::of<&Rule::kv, Rule>({.name = "kv",
                                   .type = FieldType::kSource,
                                   .help = "the token that each key is, [S] or [B,S]",
                                   .group = 1,
                                   .stem = "indices"}),
      fields::of<&Rule::queries, Rule>({.name = "queries",
                                        .type = FieldType::kRanges,
                                        .help = "the tokens that the queries are, in this order",
                                        .group = 2}),
      fields::of<&Rule::keys, Rule>({.name = "keys",
                                     .type = FieldType::kRanges,
                                     .help = "the tokens that the keys are",
                                     .group = 2}),
      fields::of<&Rule::stride, Rule>(
          {.name = "stride",
           .help = "1 + the tokens that are left out after each, in ranges",
           .fallback = "1",
           .min = 1})};
}

}  // namespace maskctl::step
