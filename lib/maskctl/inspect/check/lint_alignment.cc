// Finds queries that are at a wrong position among the keys, and exchanged axes.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/inspect/check/fixes.h"
#include "maskctl/inspect/check/lint_parts.h"
#include "maskctl/mask/planes/bands.h"

namespace maskctl {

LintRule lint_row(RuleKey<FindingId::kTopLeft>) {
  return {.id = "top-left",
          .severity = Severity::kNote,
          .summary = "a causal mask with fewer queries than keys is aligned top-left",
          .claim = "no query sees a key past its own number, counted from the first key",
          .why =
              "right for the first tokens of a static cache, whose later slots are still empty; "
              "wrong where the queries are the last tokens: torch's is_causal and ejkernel's XLA "
              "attention see the first keys only, flash-attention and the Triton kernels the last",
          .fix = "for the last tokens use align=bottom-right, or an offset of keys - queries",
          .example = "maskctl check gen:full:q=2,k=6 -t causal:align=top-left"};
}

LintRule lint_row(RuleKey<FindingId::kDecodeFirstKey>) {
  return {.id = "decode-first-key",
          .severity = Severity::kWarning,
          .summary = "a single query sees the first key only",
          .claim = "the only query sees key 0 and no other",
          .why =
              "a decoding step with is_causal aligned top-left attends to token 0 and forgets the "
              "context",
          .fix = "leave causal out of decoding steps, or use align=bottom-right",
          .example = "maskctl check gen:full:q=1,k=6 -t causal:align=top-left",
          .unfixed = "which keys are padding is not known"};
}

LintRule lint_row(RuleKey<FindingId::kDecodeOwnKey>) {
  return {
      .id = "decode-own-key",
      .severity = Severity::kWarning,
      .summary = "a single query sees the keys before the last, and not the last",
      .claim =
          "the only query is declared to be a token, sees the last key but one, and not the last",
      .why =
          "the last key is the query's own: with an offset of -1, or a mask that is made before "
          "the cache takes the new token, it does not attend to itself",
      .fix = "drop the offset, or make the mask for a cache that holds the new token",
      .example =
          R"(python3 -c 'import numpy as np; np.save("attention_mask.npy", np.ones((1, 6), "i4"))'
maskctl check gen:full:q=1,k=6 -t causal:align=bottom-right,offset=-1 --padding attention_mask.npy)",
      .unfixed = "which keys an offset of 0 would open or close is not known"};
}

LintRule lint_row(RuleKey<FindingId::kOwnKeyClosed>) {
  return {.id = "own-key-closed",
          .severity = Severity::kNote,
          .summary = "queries at the end of the keys see the keys before their own only",
          .claim =
              "each query sees the key before its own, counted from the last key, and neither its "
              "own nor a later one",
          .why =
              "right in a static cache with one empty slot; wrong where the queries are the last "
              "tokens: they do not attend to themselves; flags of padding say which",
          .fix = "drop the offset, or make the mask for a cache that holds the new tokens",
          .example = "maskctl check gen:full:q=2,k=6 -t causal:align=bottom-right,offset=-1"};
}

LintRule lint_row(RuleKey<FindingId::kAxesExchanged>) {
  return {
      .id = "axes-exchanged",
      .severity = Severity::kWarning,
      .summary = "heads and queries look exchanged: [B,S,1,S] instead of [B,1,S,S]",
      .claim =
          "there are one query and as many heads as keys, and the head sees other keys than head 0",
      .why = "each query's row is taken for a head: it is broadcast over the queries, or refused",
      .fix = "add the axis of heads in front of the queries: mask[:, None], not mask[:, :, None]",
      .example =
          R"(python3 -c 'import numpy as np; np.save("mask.npy", np.tri(6, dtype=bool)[None, :, None])'
maskctl check mask.npy)",
      .beside = {LintRule::Beside::kSaysPattern},
      .fixed = heads_to_queries};
}

namespace {

/// Whether the only query sees the first key and no other, in every head and batch entry.
bool sees_first_alone(const LintedMask& linted) {
  const Index keys = linted.mask.keys();
  return std::ranges::all_of(linted.mask.distinct(), [keys](const PlanePtr& plane) {
    return plane->count({0, 1}, {0, 1}) == 1 && plane->count({0, 1}, {1, keys}) == 0;
  });
}

/// Whether each query sees the token before its own, and neither its own nor a later one.
bool ends_before_self(const PlanePtr& plane) {
  const Index queries = plane->queries(), keys = plane->keys(), shift = keys - queries;
  return count_on_diagonals(plane, shift - 1, shift - 1) == queries &&
         count_on_diagonals(plane, shift, kUnbounded) == 0;
}

/// Finds queries at the end of the keys that do not see themselves, in all planes that see
/// anything. `tokens`: open in rows that are declared to be no padding; without it, the last key
/// of a single query may be an empty slot of a cache.
void lint_own_key(const LintedMask& linted, const Mask* tokens, Findings& out) {
  const Mask& mask = linted.mask;
  const Index queries = mask.queries(), keys = mask.keys();
  const bool all = keys > 2 && std::ranges::all_of(mask.distinct(), [](const PlanePtr& plane) {
                     return plane->count() == 0 || ends_before_self(plane);
                   });
  if (!all) return;
  const Location where{linted.uses[0].batch, linted.uses[0].head, 0, keys - queries, {}, {}};
  const bool is_token =
      tokens && std::ranges::all_of(tokens->distinct(),
                                    [](const PlanePtr& plane) { return plane->count() > 0; });
  if (queries == 1 && is_token) {
    out.push_back({&lint_rule(FindingId::kDecodeOwnKey),
                   fmt::format("the only query ends at key {} of {}", keys - 2, keys), where, 1});
  } else {
    out.push_back(
        {&lint_rule(FindingId::kOwnKeyClosed),
         fmt::format("{} one key before {} own, counted from the last key",
                     queries == 1 ? "the only query ends" : fmt::format("{} queries end", queries),
                     queries == 1 ? "its" : "their"),
         where, queries});
  }
}

void lint_top_left(const LintedMask& linted, Findings& out) {
  const Index queries = linted.mask.queries(), keys = linted.mask.keys();
  for (std::size_t i = 0; i < linted.uses.size(); ++i) {
    const PlanePtr& plane = linted.mask.distinct()[i];
    // In a plane that is causal from the top left, each query i sees key i, also the last one. A
    // plane in which the last one does not may have been closed there for another reason.
    if (plane->count({queries - 1, queries}, {queries - 1, queries}) == 0) continue;
    const PlanePtr causal = diagonal_band(queries, keys, -kUnbounded, 0);
    if (combine(Op::kSub, plane, causal)->count() > 0) continue;
    const Location where{linted.uses[i].batch, linted.uses[i].head, 0, {}, {}, {}};
    const Index seen = plane->count({0, 1}, {0, keys});
    out.push_back({&lint_rule(FindingId::kTopLeft),
                   fmt::format("query 0 of {} sees {} of {} keys, and keys from {} on are seen by "
                               "none",
                               queries, seen, keys, queries),
                   where, 1});
    return;
  }
}

/// Finds masks with one query and as many heads as keys, in which heads differ: they are probably
/// [B,1,S,S] with axes exchanged to [B,S,1,S].
bool lint_axes(const LintedMask& linted, Findings& out) {
  const Mask& mask = linted.mask;
  if (mask.queries() != 1 || mask.heads() != mask.keys() || mask.heads() < 2) return false;
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 1; h < mask.heads(); ++h) {
      if (differing_cells(mask.plane(b, 0), mask.plane(b, h)) == 0) continue;
      out.push_back({&lint_rule(FindingId::kAxesExchanged),
                     fmt::format("{} heads of one query and {} keys, and the heads differ",
                                 mask.heads(), mask.keys()),
                     {b, h, {}, {}, {}, {}},
                     mask.heads()});
      return true;
    }
  }
  return false;
}

}  // namespace

void lint_alignment(const LintedMask& linted, const Mask* tokens, Findings& out) {
  const Index queries = linted.mask.queries(), keys = linted.mask.keys();
  if (queries >= keys || queries == 0 || lint_axes(linted, out)) return;
  if (queries == 1 && sees_first_alone(linted)) {
    out.push_back({&lint_rule(FindingId::kDecodeFirstKey),
                   fmt::format("the only query sees key 0 alone of {} keys", keys),
                   {linted.uses[0].batch, linted.uses[0].head, 0, {}, {}, {}},
                   1});
    return;
  }
  if (queries > 1) lint_top_left(linted, out);
  lint_own_key(linted, tokens, out);
}

}  // namespace maskctl
