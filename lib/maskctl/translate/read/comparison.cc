#include "maskctl/translate/read/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "maskctl/base/checked.h"
#include "maskctl/base/printable.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/dilated.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/field.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/global.h"
#include "maskctl/mask/steps/pad.h"
#include "maskctl/mask/steps/query_lengths.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/pipeline/parse/values.h"
#include "maskctl/translate/read/expression.h"

namespace maskctl {
namespace {

bool is_number(const Linear& a) { return a.q == 0 && a.k == 0 && a.queries == 0 && a.keys == 0; }
/// The sum times a number; nothing for results beyond 32 bits.
std::optional<Linear> times(const Linear& a, Index by) {
  Linear out;
  for (Index Linear::*term :
       {&Linear::q, &Linear::k, &Linear::queries, &Linear::keys, &Linear::number}) {
    const auto product = checked_mul(a.*term, by);
    if (!product || std::abs(*product) > kMaxArgument) return std::nullopt;
    out.*term = *product;
  }
  return out;
}

/// The negation of form <= 0: the result is <= 0 where `form` is > 0.
Linear above(const Linear& form) {
  Linear out = minus({}, form);
  out.number += 1;
  return out;
}

bool is_index(const Python& given, std::string_view axis) {
  return given.is_word(axis) || (axis == "q_idx" && given.is_word("q")) ||
         (axis == "kv_idx" && (given.is_word("kv") || given.is_word("k")));
}

/// The n of KV_LEN - n; null for other expressions.
const Python* before_end(const Python& given) {
  const bool is_difference = given.is_binary("-") && given.items[0].is_word("KV_LEN");
  return is_difference ? &given.items[1] : nullptr;
}

/// The numbers in `length` of the expression length[b]; nothing for other expressions.
std::optional<std::vector<Index>> batch_numbers(const PythonText& text, const Python& given) {
  const bool by_batch = given.kind == Python::Kind::kSubscript && given.items.size() == 2 &&
                        given.items[1].is_word("b");
  return by_batch ? numbers_in(text, given.items[0]) : std::nullopt;
}

/// A rule that closes the first n queries (or keys).
MaskPart closed_first(std::vector<Range> step::Region::*side, Index n) {
  step::Region rule;
  rule.open = false;
  rule.*side = {{0, n}};
  return {{{std::move(rule)}}};
}

/// The condition q == at (or k == at): keeps one row or one column.
Condition single(std::vector<Range> step::Region::*side, Index at) {
  if (at < 0) return negated(condition(all_cells()));
  step::Region opened, closed;
  closed.open = false;
  opened.*side = closed.*side = {{at, at + 1}};
  return condition({{{std::move(opened)}}, true}, {{{std::move(closed)}}});
}

Condition constant(bool holds) {
  return holds ? condition(all_cells()) : negated(condition(all_cells()));
}

}  // namespace

Linear minus(const Linear& a, const Linear& b) {
  return {a.q - b.q, a.k - b.k, a.queries - b.queries, a.keys - b.keys, a.number - b.number};
}

std::string_view exchanged(std::string_view sign) {
  if (sign == "<") return ">";
  if (sign == "<=") return ">=";
  if (sign == ">") return "<";
  if (sign == ">=") return "<=";
  return sign;
}

bool Comparisons::counts_rows(const Linear& form) const {
  const bool moved = form.queries == form.q && form.keys == -form.q;
  return (form.queries == 0 && form.keys == 0) || (moved && rows_ == Align::kBottomRight);
}

const Python* Comparisons::indexed(const Python& value, std::string_view axis) const {
  const Python& given = named_value(source_.text, value);
  if (given.kind != Python::Kind::kSubscript || given.items.size() < 2) return nullptr;
  const Python& index = given.items.back();
  // Also accepts doc_id[:, None] for queries and doc_id[None] for keys, as in dense masks.
  if (given.items.size() == 3 && given.items[1].is_word(":") && index.is_word("None")) {
    return axis == "q_idx" ? &given.items.front() : nullptr;
  }
  if (given.items.size() == 2 && index.is_word("None")) {
    return axis == "kv_idx" ? &given.items.front() : nullptr;
  }
  const bool batch = given.items.size() == 3 && given.items[1].is_word("b");
  if (given.items.size() == 3 && !batch) return nullptr;
  const auto row = axis == "q_idx" ? linear(index) : std::nullopt;
  const bool moved = row && row->q == 1 && row->k == 0 && row->number == 0 && counts_rows(*row);
  return is_index(index, axis) || moved ? &given.items.front() : nullptr;
}

const Python* Comparisons::ids_of(const Python& left, const Python& right) const {
  const Python* rows = indexed(left, "q_idx");
  const Python* columns = indexed(right, "kv_idx");
  if (!rows || !columns) {
    rows = indexed(right, "q_idx");
    columns = indexed(left, "kv_idx");
  }
  if (!rows || !columns) return nullptr;
  if (rows->text != columns->text) source_.fail(left.position, "ids of queries and keys differ");
  return rows;
}

std::optional<Linear> Comparisons::linear_word(const Python& given) const {
  Linear out;
  if (is_index(given, "q_idx")) {
    out.q = 1;
  } else if (is_index(given, "kv_idx")) {
    out.k = 1;
  } else if (given.is_word("Q_LEN") || given.is_word("q_len") ||
             given.is_word("seqlen_info.seqlen_q")) {
    out.queries = 1;
  } else if (given.is_word("KV_LEN") || given.is_word("kv_len") ||
             given.is_word("seqlen_info.seqlen_k")) {
    out.keys = 1;
  } else {
    return std::nullopt;
  }
  return out;
}

std::optional<Linear> Comparisons::linear(const Python& given) const {
  if (const auto number = number_in(source_.text, given)) return Linear{.number = *number};
  const Python& value = named_value(source_.text, given);
  if (&value != &given) source_.count(given.position);
  if (value.kind == Python::Kind::kWord) return linear_word(value);
  if (value.kind != Python::Kind::kOperator) return std::nullopt;
  const auto first = linear(value.items.front());
  if (!first) return std::nullopt;
  if (value.items.size() == 1) {
    return value.text == "-" ? std::optional(minus({}, *first)) : std::nullopt;
  }
  const auto second = linear(value.items.back());
  if (!second) return std::nullopt;
  if (value.text == "-") return minus(*first, *second);
  if (value.text == "+") return minus(*first, minus({}, *second));
  if (value.text == "*" && is_number(*second)) return times(*first, second->number);
  if (value.text == "*" && is_number(*first)) return times(*second, first->number);
  return std::nullopt;
}

std::optional<Linear> Comparisons::scaled(const Python& given, std::string_view sign,
                                          Index& by) const {
  const Python& value = named_value(source_.text, given);
  if (!value.is_binary(sign)) return std::nullopt;
  const auto number = number_in(source_.text, value.items[1]);
  if (!number || *number < 1) return std::nullopt;
  by = *number;
  return linear(value.items[0]);
}

/// The alignment of a diagonal that the expression moves by `shift` times (KV_LEN - Q_LEN).
Align Comparisons::aligned(Index shift, Index position) const {
  if (shift == 0) return rows_;
  if (shift == 1 && rows_ != Align::kBottomRight) return Align::kBottomRight;
  if (shift == -1 && rows_ == Align::kBottomRight) return Align::kTopLeft;
  source_.fail(position, "rows are shifted by something other than KV_LEN - Q_LEN");
}

std::optional<MaskPart> Comparisons::at_most(const Linear& form, Index position) const {
  const bool square = form.keys == -form.queries;
  if (form.q == -1 && form.k == 1 && square) {  // k <= q + (K - Q) - number
    step::Causal rule{aligned(form.queries, position), {}};
    if (form.number != 0) rule.offsets = fields::numbers({-form.number});
    return MaskPart{{{std::move(rule)}}};
  }
  if (form.q == 1 && form.k == -1 && square) {  // k >= q + (K - Q) + number
    step::Window rule;
    rule.align = aligned(form.keys, position);
    rule.left = std::max<Index>(-form.number, 0);
    rule.offset = std::max<Index>(form.number, 0);
    return MaskPart{{{rule}}};
  }
  const bool none = form.queries == 0 && form.keys == 0;
  if (form.q == 0 && form.k == 0 && none) return form.number <= 0 ? all_cells() : no_cells();
  if (form.q == -1 && form.k == 0 && counts_rows(form)) {  // q >= number
    if (form.number <= 0) return all_cells();
    const bool of_rows = !none || rows_ != Align::kBottomRight;
    return of_rows ? std::optional(closed_first(&step::Region::q, form.number)) : std::nullopt;
  }
  if (form.q == -1 && form.k > 1 && none && rows_ == Align::kTopLeft) {  // k N + number <= q
    const Index size = std::max<Index>(form.number, 0) + 1;
    return MaskPart{steps_of(fmt::format("compressed:size={},stride={},offset={}", size, form.k,
                                         std::max<Index>(-form.number, 0)))};
  }
  if (form.q != 0 || form.queries != 0) return std::nullopt;
  if (form.k == 1 && form.keys == 0) {  // k < 1 - number
    if (form.number > 0) return no_cells();
    return MaskPart{{{step::Prefix{1 - form.number}}}, true};
  }
  if (form.k == -1 && form.keys == 0) {  // k >= number
    return form.number <= 0 ? all_cells() : closed_first(&step::Region::k, form.number);
  }
  if (form.k != -1 || form.keys != 1 || form.number > 0) return std::nullopt;
  step::Pad rule;  // k >= K - n
  rule.valid = fields::numbers({-form.number});
  rule.is_lengths = true;
  rule.left = true;
  return MaskPart{{{std::move(rule)}}};
}

Condition Comparisons::below(const Linear& form, Index position) const {
  Condition out{at_most(form, position), at_most(above(form), position)};
  if (!out.yes && !out.no) {
    source_.fail(position, "this comparison is not a causal rule, window or prefix");
  }
  if (!out.yes) out.yes = inverted(*out.no);
  if (!out.no) out.no = inverted(*out.yes);
  return out;
}

Condition Comparisons::equal_to_zero(const Linear& form, Index position) const {
  const bool none = form.queries == 0 && form.keys == 0;
  const bool rows = form.k == 0 && std::abs(form.q) == 1 && none && rows_ != Align::kBottomRight;
  if (rows) return single(&step::Region::q, -form.number * form.q);
  if (form.q == 0 && std::abs(form.k) == 1 && none) {
    return single(&step::Region::k, -form.number * form.k);
  }
  return all_of({below(form, position), below(minus({}, form), position)});
}

/// Reads a comparison of abs(q_idx - kv_idx) with a number.
std::optional<Condition> Comparisons::absolute(const Python& left, std::string_view sign,
                                               const Python& right, Index position) const {
  const Python& distance = named_value(source_.text, left);
  const bool is_abs = distance.kind == Python::Kind::kCall && last_name(distance.text) == "abs" &&
                      distance.items.size() == 1;
  const auto inner = is_abs ? linear(distance.items[0]) : std::nullopt;
  if (!inner) return std::nullopt;
  const auto width = number_in(source_.text, right);
  const bool apart = std::abs(inner->q) == 1 && inner->q == -inner->k && inner->number == 0;
  if (!width || !apart || sign == "==" || sign == "!=") {
    source_.fail(position, "expected abs(q_idx - kv_idx) <= a number");
  }
  const bool inside = sign.front() == '<';
  const Index reach = *width - (sign == "<" || sign == ">=" ? 1 : 0);
  if (reach < 0) return constant(!inside);
  step::Window rule;
  rule.left = rule.right = reach;
  rule.align = aligned(inner->q * inner->keys, position);
  rule.spelling = step::Window::Spelling::kBoth;
  const Condition within = condition({{{rule}}});
  return inside ? within : negated(within);
}

/// Reads (q_idx - kv_idx) % N with 0, and q_idx % N with kv_idx % N.
std::optional<Condition> Comparisons::dilated(const Python& left, const Python& right) const {
  Index size = 0, other = 0;
  auto distance = scaled(left, "%", size);
  const auto column = scaled(right, "%", other);
  if (distance && column) {
    if (size != other) return std::nullopt;
    distance = minus(*distance, *column);
  } else if (number_in(source_.text, right) != Index{0}) {
    return std::nullopt;
  }
  const bool fits = distance && distance->number == 0 && distance->q == -distance->k &&
                    std::abs(distance->q) == 1 && counts_rows(*distance);
  return fits ? std::optional(condition({{{step::Dilated{size}}}})) : std::nullopt;
}

/// Reads kv_idx < length[b], kv_idx >= KV_LEN - length[b] and q_idx < length[b], and their
/// negations.
std::optional<Condition> Comparisons::per_batch(const Python& given, std::string_view sign,
                                                const Python& limit) const {
  const Python& right = named_value(source_.text, limit);
  const Python* to_end = before_end(right);
  const bool from_end = to_end != nullptr;
  const auto lengths =
      batch_numbers(source_.text, from_end ? named_value(source_.text, *to_end) : right);
  const bool keeps = sign == (from_end ? ">=" : "<"), closes = sign == (from_end ? "<" : ">=");
  if (!lengths || (!keeps && !closes)) return std::nullopt;
  std::optional<Condition> out;
  if (is_index(given, "kv_idx")) {
    step::Pad rule;
    rule.valid = fields::numbers(*lengths);
    rule.is_lengths = true;
    rule.left = from_end;
    out = condition({{{std::move(rule)}}});
  } else if (is_index(given, "q_idx") && !from_end && rows_ != Align::kBottomRight) {
    out = condition({{{step::QueryLengths{fields::numbers(*lengths)}}}});
  }
  return out && closes ? negated(*out) : out;
}

Condition Comparisons::read(const Python& left, std::string_view sign, const Python& right,
                            Index position) {
  if (auto distance = absolute(left, sign, right, position)) return *distance;
  if (auto distance = absolute(right, exchanged(sign), left, position)) return *distance;
  if (auto chunk = blocks(left, sign, right, position)) return *chunk;
  const auto a = linear(left), b = linear(right);
  if (sign == "==" || sign == "!=") {
    std::optional<Condition> out = dilated(left, right);
    if (!out && a && b) out = equal_to_zero(minus(*a, *b), position);
    if (out) return sign == "==" ? *out : negated(*out);
    source_.fail(position, sign == "=="
                               ? "this equality is not a rule of chunks, documents or dilation"
                               : "expected ids[q_idx] != -1");
  }
  if (a && b) {
    const bool less = sign.front() == '<';
    Linear form = less ? minus(*a, *b) : minus(*b, *a);
    if (sign.size() == 1) form.number += 1;
    return below(form, position);
  }
  if (auto lengths = per_batch(left, sign, right)) return *lengths;
  if (auto lengths = per_batch(right, exchanged(sign), left)) return *lengths;
  source_.fail(left.position, "expected a comparison in q_idx, kv_idx and numbers");
}

const std::string* Comparisons::compared_ids(const Python& given) const {
  if (!given.is_binary("==")) return nullptr;
  const Python* ids = ids_of(given.items[0], given.items[1]);
  return ids ? &ids->text : nullptr;
}

const std::string* Comparisons::unpadded_ids(const Python& given) const {
  if (!given.is_binary("!=") || number_in(source_.text, given.items[1]) != Index{-1}) {
    return nullptr;
  }
  const Python* ids = indexed(given.items[0], "q_idx");
  if (!ids) ids = indexed(given.items[0], "kv_idx");
  return ids ? &ids->text : nullptr;
}

Condition Comparisons::documents(const Python& given, bool padded) const {
  const Python* ids = ids_of(given.items[0], given.items[1]);
  const auto lengths = id_lengths(source_, *ids, padded);
  if (!lengths) {
    const std::string_view name = last_name(ids->text);
    source_.fail(ids->position, fmt::format("the values of {} are needed: consecutive documents, "
                                            "as numbers",
                                            printable(name.substr(0, name.find('#')))));
  }
  return condition({{{step::DocumentLengths{*lengths}}}});
}

std::optional<Condition> Comparisons::global(const Python& left, const Python& right) const {
  const Python* rows = indexed(left, "q_idx");
  const Python* columns = indexed(right, "kv_idx");
  if (!rows || !columns || rows->text != columns->text) return std::nullopt;
  const Python array = resolved(source_.text, *rows);
  std::vector<Index> tokens;
  if (array.kind == Python::Kind::kCall && array.text.ends_with("isin") &&
      array.items.size() == 2) {
    const auto listed = numbers_in(source_.text, array.items[1]);
    if (!listed) return std::nullopt;
    tokens = *listed;
  } else if (const auto flags = numbers_in(source_.text, array)) {
    for (std::size_t i = 0; i < flags->size(); ++i) {
      if ((*flags)[i] != 0) tokens.push_back(static_cast<Index>(i));
    }
  } else {
    return std::nullopt;
  }
  step::Global rule;
  for (const Index token : tokens) {
    if (!rule.tokens.empty() && rule.tokens.back().end == token) {
      ++rule.tokens.back().end;
    } else {
      rule.tokens.push_back({token, token + 1});
    }
  }
  return condition({{{std::move(rule)}}, true});
}

std::optional<Condition> Comparisons::padding(const Python& keys, const Python& queries) const {
  const auto limit = [&](const Python& one, std::string_view axis) -> const Python* {
    const bool fits = (one.is_binary("<") || one.is_binary(">=")) && is_index(one.items[0], axis);
    return fits ? &one.items[1] : nullptr;
  };
  const Python* of_keys = limit(keys, "kv_idx");
  const Python* of_queries = limit(queries, "q_idx");
  if (!of_keys || !of_queries || keys.text != queries.text) return std::nullopt;
  step::Pad rule;
  rule.is_lengths = rule.both = true;
  rule.left = keys.text == ">=";
  const auto length = [&](const Python& given) -> std::optional<std::vector<Index>> {
    const Python* to_end = before_end(given);
    if ((to_end != nullptr) != rule.left) return std::nullopt;
    const Python& value = to_end ? *to_end : given;
    if (const auto number = number_in(source_.text, value)) return std::vector<Index>{*number};
    return batch_numbers(source_.text, value);
  };
  const auto lengths = length(*of_keys);
  if (!lengths || lengths != length(*of_queries)) return std::nullopt;
  rule.valid = fields::numbers(*lengths);
  return condition({{{std::move(rule)}}});
}

}  // namespace maskctl
