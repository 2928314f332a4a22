#include "maskctl/mask/steps/tokens.h"

#include <fmt/format.h>

#include <array>

#include "maskctl/mask/planes/leaves.h"
#include "maskctl/mask/steps/bits.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::step {

std::string words(const Tokens&) { return "token types"; }

Meets meets(const Tokens& rule) {
  switch (rule.join) {
    case Tokens::Join::kUnion:
      return Meets::kOpens;
    case Tokens::Join::kIntersect:
      return Meets::kKeeps;
    case Tokens::Join::kReplace:
      break;
  }
  return Meets::kReplaces;
}

namespace {

Side zero_side(Tokens::Zero zero) {
  switch (zero) {
    case Tokens::Zero::kQ:
      return Side::kQuery;
    case Tokens::Zero::kKv:
      return Side::kKey;
    case Tokens::Zero::kBoth:
      return Side::kBoth;
    case Tokens::Zero::kNone:
      break;
  }
  return Side::kNone;
}

/// The types of batch b in an array [S] or [B,S]; `length` is S.
std::span<const std::int32_t> types_of(std::span<const std::int32_t> types, Index length, Index b) {
  const auto size = as_size(length);
  return types.size() == size ? types : types.subspan(as_size(b) * size, size);
}

}  // namespace

Mask cells(const Tokens& rule, const MaskShape& shape) {
  const NamedArray& kv = rule.shared ? rule.q : rule.kv;
  check_batched(shape, rule.q.array, shape.queries, "tokens", "queries");
  check_batched(shape, kv.array, shape.keys, "tokens", "keys");
  const auto q_types = as_int32(rule.q.array, "token types");
  const auto k_types = as_int32(kv.array, "token types");
  const bool differ = rule.q.array.elements() != shape.queries || kv.array.elements() != shape.keys;
  PlanePtr plane;
  return Mask::make(shape.batch, 1, shape.queries, shape.keys, [&](Index b, Index) {
    if (plane && !differ) return plane;
    plane = equal_ids(types_of(q_types, shape.queries, b), types_of(k_types, shape.keys, b), 0,
                      zero_side(rule.zero));
    return plane;
  });
}

PairReason reason(const Tokens& rule, const MaskShape&, const Cell& cell) {
  const Tensor& kv = rule.shared ? rule.q.array : rule.kv.array;
  const Index q = element(rule.q.array, token_index(rule.q.array, cell.batch, cell.query));
  const Index k = element(kv, token_index(kv, cell.batch, cell.key));
  const bool nothing = q == 0 && rule.zero != Tokens::Zero::kNone;
  return {q == k && !nothing,
          fmt::format("query {} has type {}, key {} type {}{}", cell.query, q, cell.key, k,
                      q == k && nothing ? ", and type 0 matches nothing" : "")};
}

Expr formula(const Tokens& rule) {
  const Tensor& kv = rule.shared ? rule.q.array : rule.kv.array;
  const Expr q = expr::element("token_type", rule.q.array, {expr::of_tokens(rule.shared)});
  const Expr k = expr::element(rule.shared ? "token_type" : "kv_token_type", kv, {expr::key()});
  return rule.zero == Tokens::Zero::kNone ? q == k : q == k && q != 0;
}

Index bits(const Tokens& rule, const ArgumentBits& bits) {
  return bits.runs(rule.q) + bits.runs(rule.kv);
}

namespace {

/// The tokens whose types differ, in the types of the queries or in those of the keys.
struct ChangedTypes {
  Index count = 0, first = -1;
};
ChangedTypes changed_types(const NamedArray& a, const NamedArray& b) {
  const auto before = as_int32(a.array, "types"), after = as_int32(b.array, "types");
  ChangedTypes out;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (before[i] != after[i] && out.count++ == 0) out.first = static_cast<Index>(i);
  }
  return out;
}

}  // namespace

/// Counts the tokens whose types differ; nothing if other arguments differ.
std::optional<Reason> change(const Tokens& a, const Step& other) {
  const auto* b = other.get_if<Tokens>();
  if (!b || a.join != b->join || a.zero != b->zero || a.shared != b->shared) return std::nullopt;
  Reason out = Reason::unchanged();
  const auto add = [&out](const ChangedTypes& changed, const char* one, const char* many) {
    if (changed.count == 0) return;
    out.add(fmt::format("token types of {} {} changed, first {} {}", changed.count,
                        changed.count == 1 ? one : many, one, changed.first));
    out.changes += changed.count - 1;
  };
  const ChangedTypes of_queries = changed_types(a.q, b->q);
  if (a.shared) {
    add(of_queries, "token", "tokens");
  } else {
    add(of_queries, "query", "queries");
    add(changed_types(a.kv, b->kv), "key", "keys");
  }
  return out;
}

namespace {

constexpr std::array kTokensFields = {
    fields::both_sides<Tokens>("types", "ids [S] or [B,S] of both sides"),
    fields::one_side<Tokens, &Tokens::q>("q", "types", "types of the queries", 2),
    fields::one_side<Tokens, &Tokens::kv>("kv", "types", "types of the keys", 2),
    fields::of<&Tokens::join>({.name = "combine",
                               .type = FieldType::kChoice,
                               .help = "how to join the current mask",
                               .fallback = "union",
                               .choices = "union|intersect|replace"}),
    fields::of<&Tokens::zero>({.name = "zero",
                               .type = FieldType::kChoice,
                               .help = "the side on which type 0 matches nothing",
                               .fallback = "q",
                               .choices = "q|kv|both|none"})};

constexpr std::array kTokensNames = {
    StepInfo{.name = "tokens",
             .kind = StepKind::kOwn,
             .meaning = "joins the cells of equal token type to the mask",
             .formula = "type[q] == type[k], and not 0 on the side zero= names",
             .example = "tokens:types.npy",
             .args = kTokensFields,
             .noun = "token types",
             .synonyms = "token-types types image modality",
             .make = blank<Tokens>}};
constexpr RuleInfo kTokensRow =
    describe<Tokens>(kTokensNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const Tokens*) { return kTokensRow; }

}  // namespace maskctl::step
