#include "maskctl/mask/steps/pad.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/base/grouped.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::step {

std::string words(const Pad&) { return "padding"; }

std::optional<Step> declared(const Pad& rule, const MaskShape& shape) {
  // Flags of keys say nothing about queries, nor do lengths of keys that are not the queries.
  if (!rule.both && (!rule.is_lengths || shape.queries != shape.keys)) return std::nullopt;
  Pad both = rule;
  both.both = true;
  return both;
}

Meets meets(const Pad&) { return Meets::kKeeps; }

namespace {

Range valid_range(const Pad& rule, Index length, Index keys) {
  return rule.left ? Range{keys - length, keys} : Range{0, length};
}

}  // namespace

Mask cells(const Pad& rule, const MaskShape& shape) {
  if (rule.both && shape.queries != shape.keys) {
    refuse("pad", fmt::format("of=both needs as many queries as keys, not {}", shape_text(shape)));
  }
  if (!rule.is_lengths) {
    check_batched(shape, rule.valid.array, shape.keys, "pad", "keys");
    return rule.both ? mask_from_padding(rule.valid.array)
                     : mask_from_key_padding(rule.valid.array, shape.queries);
  }
  const std::vector<Index> lengths = per_batch(shape, rule.valid, "pad", "lengths");
  check_lengths(lengths, shape.keys, "pad", "keys");
  const auto plane = [&](Index length) {
    const Range valid = valid_range(rule, length, shape.keys);
    return rectangle(shape.queries, shape.keys, rule.both ? valid : Range{0, shape.queries}, valid);
  };
  return per_values(shape, plane, lengths);
}

namespace {

/// Whether token i of batch b is valid, and the same in words.
PairReason valid_token(const Pad& rule, const MaskShape& shape, Index b, Index i) {
  if (!rule.is_lengths) {
    const bool yes = is_set(rule.valid.array, token_index(rule.valid.array, b, i));
    return {yes, yes ? "is flagged valid" : "is flagged as padding"};
  }
  const Range range = valid_range(rule, of_batch(rule.valid, b), shape.keys);
  return {range.contains(i),
          fmt::format("is {} the valid [{}, {})", range.contains(i) ? "in" : "outside", range.begin,
                      range.end)};
}

/// The condition that the token at this index is valid.
Expr valid_at(const Pad& rule, const Expr& index) {
  if (!rule.is_lengths) return expr::element("valid", rule.valid.array, {index}) != 0;
  const Expr length = expr::of_batch("length", rule.valid);
  return rule.left ? expr::keys() - length <= index : index < length;
}

}  // namespace

PairReason reason(const Pad& rule, const MaskShape& shape, const Cell& cell) {
  const PairReason key = valid_token(rule, shape, cell.batch, cell.key);
  std::string words = fmt::format("key {} {}", cell.key, key.words);
  if (!rule.both) return {key.holds, std::move(words)};
  const PairReason query = valid_token(rule, shape, cell.batch, cell.query);
  words += fmt::format(", query {} {}", cell.query, query.words);
  return {key.holds && query.holds, std::move(words)};
}

std::optional<Step> idle(const Pad& rule, const MaskShape& shape) {
  if (!rule.is_lengths) return std::nullopt;
  Pad out = rule;
  out.valid = fields::numbers({shape.keys});
  return out;
}

Expr formula(const Pad& rule) {
  const Expr keys = valid_at(rule, expr::key());
  return rule.both ? keys && valid_at(rule, expr::of_tokens(true)) : keys;
}

std::optional<Misfit> misfit(const Pad& rule, GivenNames given) {
  if (rule.is_lengths || std::ranges::find(given, "side") == given.end()) return std::nullopt;
  const Tensor& array = rule.valid.array;
  return Misfit{"side",
                fmt::format("side= of pad goes with lengths, but the array is {} {}: one flag per "
                            "key",
                            name(array.dtype()), shape_text(array.shape()))};
}

namespace {

std::string_view place_words(const Pad& rule) {
  return rule.left ? "after the left padding" : "before the right padding";
}

/// "5 tokens after the left padding", "numbers of tokens before the right padding".
std::string side_words(const Pad& rule) {
  if (rule.valid.array.elements() != 1) {
    return fmt::format("numbers of tokens {}", place_words(rule));
  }
  return fmt::format("{} {}", counted(element(rule.valid.array, 0), "token"), place_words(rule));
}

}  // namespace

std::optional<Reason> change(const Pad& a, const Step& other) {
  const auto* b = other.get_if<Pad>();
  if (!b) return std::nullopt;
  Reason out = Reason::unchanged();
  if (!a.is_lengths || !b->is_lengths) {
    out.add("other padding");
  } else if (a.left != b->left) {
    out.add(fmt::format("{} instead of {}", side_words(*b), side_words(a)));
  } else if (a.valid.array.elements() == 1 && b->valid.array.elements() == 1) {
    const Index before = element(a.valid.array, 0), after = element(b->valid.array, 0);
    if (before != after) out.add(fmt::format("{} instead of {}", side_words(*b), before));
  }
  if (a.both != b->both) {
    out.add(b->both ? "padding rows closed" : "padding rows open");
    if (out.changes == 1) out.kind = "padding";
  }
  return out;
}

namespace {

const Pad& pad_in(const Step& step) { return step.as<Pad>(); }

constexpr std::array kPadFields = {
    Field{.name = "SRC",
          .type = FieldType::kSource,
          .help = "flags (bool [S], or [B,S]; nonzero = valid), or lengths [B]",
          .required = true,
          .group = 1,
          .positional = true,
          .stem = "valid",
          .get =
              [](const Step& step) {
                const Pad& rule = pad_in(step);
                return rule.is_lengths && is_list(rule.valid) ? FieldValue()
                                                              : FieldValue(rule.valid);
              },
          .set =
              [](Step& step, FieldValue value) {
                Pad& rule = step.as<Pad>();
                fields::write(rule.valid, std::move(value));
                Tensor& array = rule.valid.array;
                rule.is_lengths = array.dtype() != DType::kBool && array.rank() < 2;
                if (!rule.is_lengths) array = token_flags(array);
              }},
    Field{.name = "lens",
          .type = FieldType::kLengths,
          .help = "valid lengths, one or one per batch",
          .required = true,
          .group = 2,
          .get =
              [](const Step& step) {
                const Pad& rule = pad_in(step);
                return rule.is_lengths && is_list(rule.valid) ? FieldValue(rule.valid)
                                                              : FieldValue();
              },
          .set =
              [](Step& step, FieldValue value) {
                Pad& rule = step.as<Pad>();
                rule.is_lengths = true;
                fields::write(rule.valid, std::move(value));
              }},
    Field{.name = "side",
          .type = FieldType::kChoice,
          .help = "where the padding is; only with lengths",
          .fallback = "right",
          .choices = "left|right",
          .get = [](const Step& step) { return FieldValue(Index{pad_in(step).left ? 0 : 1}); },
          .set = [](Step& step,
                    FieldValue value) { step.as<Pad>().left = std::get<Index>(value) == 0; }},
    fields::of<&Pad::both>({.name = "of",
                            .type = FieldType::kChoice,
                            .help = "close padded keys, or padded queries too",
                            .fallback = "kv",
                            .choices = "kv|both"})};

constexpr std::array kPadNames = {
    StepInfo{.name = "pad",
             .kind = StepKind::kAnd,
             .meaning = "closes padding",
             .formula = "valid[k], with of=both also valid[q]",
             .example = "pad:lens=5+8,side=right",
             .args = kPadFields,
             .noun = "padding",
             .synonyms = "padding key-padding key_padding attention-mask",
             .make = blank<Pad>}};
constexpr RuleInfo kPadRow = describe<Pad>(kPadNames, Reopening::kLeak, Declares::kPart);

}  // namespace

const RuleInfo& row(const Pad*) { return kPadRow; }

}  // namespace maskctl::step
