#include "maskctl/translate/read/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>

#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/dilated.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/global.h"
#include "maskctl/mask/steps/not.h"
#include "maskctl/mask/steps/pad.h"
#include "maskctl/mask/steps/scoped.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/mask/steps/within.h"
#include "maskctl/pipeline/parse/diagnostic.h"
#include "maskctl/translate/read/syntax.h"

namespace maskctl {
namespace {

bool opens(const Step& step) {
  return step.is<step::Prefix>() || step.is<step::Sinks>() || step.is<step::Global>();
}

/// A part of an expression, as steps on an all-open mask. `adds`: steps that only open, and that
/// mean a mask of their own. `whole`: steps that cannot follow others.
struct Part {
  Chain chain;
  bool adds = false;
  bool whole = false;
  bool plain() const { return !adds && !whole && std::ranges::none_of(chain, opens); }
};

void append(Chain& to, const Chain& from) { std::ranges::copy(from, std::back_inserter(to)); }

/// The part as a chain on an all-open mask; steps that only open are preceded by closing
/// everything.
Chain standing(Part part) {
  if (!part.adds) return std::move(part.chain);
  Chain out = {{step::Not{}}};
  append(out, part.chain);
  return out;
}

/// A sum of multiples of q, k, Q, K, and a number.
struct Linear {
  Index q = 0, k = 0, queries = 0, keys = 0, number = 0;
};
Linear minus(Linear a, const Linear& b) {
  return {a.q - b.q, a.k - b.k, a.queries - b.queries, a.keys - b.keys, a.number - b.number};
}
Linear negated(const Linear& a) { return minus({}, a); }

NamedArray number_array(const std::vector<Index>& values) {
  Tensor array(DType::kInt64, {static_cast<Index>(values.size())});
  std::ranges::copy(values, array.as<std::int64_t>().begin());
  return {std::move(array), ""};
}
NamedArray one_number(Index value) { return number_array({value}); }

class Expression {
 public:
  Expression(const LibrarySource& source, Align rows) : source_(source), rows_(rows) {}

  Chain read(const Python& given) {
    Chain out = standing(node(given, 0));
    if (!padded_ids_.empty() && documents_.empty()) {
      source_.fail(given.position, "ids are compared with a number, but never with each other");
    }
    return out;
  }

 private:
  Part node(const Python& given, int depth);
  Part call(const Python& given, int depth);
  Part named_mask(const Python& given);
  Part comparison(const Python& given);
  Part equal(const Python& left, const Python& right, Index position);
  Part at_most(const Linear& form, Index position);
  Part limited(const Python& left, const Python& right, std::string_view sign);
  Part heads(const Python& given, int depth);
  Part all_of(std::vector<Part> parts, Index position);
  Part any_of(std::vector<Part> parts, Index position);
  Part both(const Python& given, int depth);
  std::optional<Part> global(const Python& left, const Python& right);
  std::optional<Part> padding(const Python& keys, const Python& queries);
  std::optional<Linear> linear(const Python& given) const;
  std::optional<Linear> scaled(const Python& given, std::string_view sign, Index& by) const;
  std::vector<Index> call_numbers(const Python& given) const;
  Index one(const Python& given, Index least) const;
  /// The name that is indexed by `axis`: doc_id[q_idx], doc_id[b, q_idx].
  const Python* indexed(const Python& given, std::string_view axis) const;
  bool is_index(const Python& given, std::string_view axis) const {
    return given.is_word(axis) || (axis == "q_idx" && given.is_word("q")) ||
           (axis == "kv_idx" && (given.is_word("kv") || given.is_word("k")));
  }
  Align aligned(Index shift, Index position) const;
  /// q is a row as dilation counts it: q_idx, or q_idx + Q_LEN - KV_LEN of transformers.
  bool counts_rows(const Linear& form) const {
    const bool moved = form.queries == form.q && form.keys == -form.q;
    return (form.queries == 0 && form.keys == 0) || (moved && rows_ == Align::kBottomRight);
  }

  const LibrarySource& source_;
  Align rows_;
  std::vector<std::string> documents_, padded_ids_;
};

const Python* Expression::indexed(const Python& given, std::string_view axis) const {
  if (given.kind != Python::Kind::kSubscript || given.items.size() < 2) return nullptr;
  const Python& index = given.items.back();
  // doc_id[:, None] and doc_id[None], as in dense masks.
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

std::optional<Linear> Expression::linear(const Python& given) const {
  Linear out;
  if (given.kind == Python::Kind::kNumber) {
    out.number = given.number;
    return out;
  }
  if (given.kind == Python::Kind::kWord) {
    if (is_index(given, "q_idx")) {
      out.q = 1;
    } else if (is_index(given, "kv_idx")) {
      out.k = 1;
    } else if (given.is_word("Q_LEN") || given.is_word("q_len")) {
      out.queries = 1;
    } else if (given.is_word("KV_LEN") || given.is_word("kv_len")) {
      out.keys = 1;
    } else if (const auto number = number_in(source_.text, given)) {
      out.number = *number;
    } else {
      return std::nullopt;
    }
    return out;
  }
  if (given.kind != Python::Kind::kOperator) return std::nullopt;
  const auto first = linear(given.items.front());
  if (!first) return std::nullopt;
  if (given.items.size() == 1) {
    return given.text == "-" ? std::optional(negated(*first)) : std::nullopt;
  }
  const auto second = linear(given.items.back());
  if (!second) return std::nullopt;
  if (given.text == "-") return minus(*first, *second);
  if (given.text == "+") return minus(*first, negated(*second));
  return std::nullopt;
}

/// The alignment when rows are shifted by `shift` times K - Q.
Align Expression::aligned(Index shift, Index position) const {
  if (shift == 0) return rows_;
  if (shift == 1 && rows_ != Align::kBottomRight) return Align::kBottomRight;
  if (shift == -1 && rows_ == Align::kBottomRight) return Align::kTopLeft;
  source_.fail(position, "rows are shifted by something other than KV_LEN - Q_LEN");
}

/// The condition form <= 0.
Part Expression::at_most(const Linear& form, Index position) {
  const bool square = form.keys == -form.queries;
  if (form.q == -1 && form.k == 1 && square) {  // k <= q + (K - Q) - number
    step::Causal rule{aligned(form.queries, position), {}};
    if (form.number != 0) rule.offsets = one_number(-form.number);
    return {{{std::move(rule)}}};
  }
  if (form.q == 1 && form.k == -1 && square) {  // k >= q + (K - Q) + number
    step::Window rule;
    rule.align = aligned(form.keys, position);
    rule.left = std::max<Index>(-form.number, 0);
    rule.offset = std::max<Index>(form.number, 0);
    return {{{rule}}};
  }
  if (form.q == -1 && form.k == 0 && form.keys == 0 && form.queries == 0 && form.number <= 0) {
    return {};  // q >= 0
  }
  const bool keys_only = form.q == 0 && form.queries == 0;
  if (keys_only && form.k == 1 && form.keys == 0) {  // k < n
    return {{{step::Prefix{std::max<Index>(1 - form.number, 0)}}}, true};
  }
  if (keys_only && form.k == -1 && form.keys == 0 && form.number <= 0) return {};  // k >= 0
  if (keys_only && form.k == -1 && form.keys == 1 && form.number <= 0) {           // k >= K - n
    step::Pad rule;
    rule.valid = one_number(-form.number);
    rule.is_lengths = true;
    rule.left = true;
    return {{{std::move(rule)}}};
  }
  source_.fail(position, "this comparison is not a causal rule, window or prefix");
}

/// Matches value // by, or value % by.
std::optional<Linear> Expression::scaled(const Python& given, std::string_view sign,
                                         Index& by) const {
  if (given.kind != Python::Kind::kOperator || given.text != sign || given.items.size() != 2) {
    return std::nullopt;
  }
  const auto number = number_in(source_.text, given.items[1]);
  if (!number || *number < 1) return std::nullopt;
  by = *number;
  return linear(given.items[0]);
}

Part Expression::equal(const Python& left, const Python& right, Index position) {
  Index size = 0, other = 0;
  const auto a = scaled(left, "//", size), b = scaled(right, "//", other);
  if (a && b && size == other) {
    Linear rows = a->q == 1 ? *a : *b, columns = a->q == 1 ? *b : *a;
    const bool plain = rows.q == 1 && rows.k == 0 && columns.k == 1 && columns.q == 0 &&
                       columns.keys == 0 && columns.queries == 0 && rows.keys == -rows.queries;
    if (plain) {
      step::Chunk rule{size, rows.number - columns.number, aligned(rows.keys, position)};
      if (columns.number % size != 0) rule.origins = one_number(-columns.number);
      if (rule.align == Align::kTopLeft) rule.align = Align::kUnset;
      return {{{std::move(rule)}}};
    }
  }
  const auto distance = scaled(left, "%", size);
  if (distance && number_in(source_.text, right) == Index{0} && distance->number == 0 &&
      distance->q == -distance->k && std::abs(distance->q) == 1 && counts_rows(*distance)) {
    return {{{step::Dilated{size}}}};
  }
  const Python* ids = indexed(left, "q_idx");
  const Python* of_keys = indexed(right, "kv_idx");
  if (!ids || !of_keys) {
    ids = indexed(right, "q_idx");
    of_keys = indexed(left, "kv_idx");
  }
  if (ids && of_keys) {
    if (ids->text != of_keys->text) source_.fail(position, "ids of queries and keys differ");
    const auto lengths = id_lengths(source_, *ids);
    if (!lengths) {
      source_.fail(ids->position, fmt::format("the values of {} are needed: consecutive documents, "
                                              "as numbers",
                                              shown(ids->text)));
    }
    documents_.push_back(ids->text);
    return {{{step::DocumentLengths{*lengths}}}};
  }
  source_.fail(position, "this equality is not a rule of chunks, documents or dilation");
}

/// Matches kv_idx < length[b], kv_idx >= KV_LEN - length[b].
Part Expression::limited(const Python& left, const Python& right, std::string_view sign) {
  const auto per_batch = [&](const Python& given) -> std::optional<std::vector<Index>> {
    const bool by_batch = given.kind == Python::Kind::kSubscript && given.items.size() == 2 &&
                          given.items[1].is_word("b");
    return by_batch ? numbers_in(source_.text, given.items[0]) : std::nullopt;
  };
  const bool from_end = right.kind == Python::Kind::kOperator && right.text == "-" &&
                        right.items.size() == 2 && right.items[0].is_word("KV_LEN");
  const auto lengths = per_batch(from_end ? right.items[1] : right);
  const bool fits = is_index(left, "kv_idx") && lengths && (from_end ? sign == ">=" : sign == "<");
  if (!fits) source_.fail(left.position, "expected a comparison in q_idx, kv_idx and numbers");
  step::Pad rule;
  rule.valid = number_array(*lengths);
  rule.is_lengths = true;
  rule.left = from_end;
  return {{{std::move(rule)}}};
}

Part Expression::comparison(const Python& given) {
  const Python& left = given.items[0];
  const Python& right = given.items[1];
  if (given.text == "==") return equal(left, right, given.position);
  if (given.text == "!=") {
    const Python* ids = indexed(left, "q_idx");
    if (!ids || number_in(source_.text, right) != Index{-1}) {
      source_.fail(given.position, "expected ids[q_idx] != -1");
    }
    padded_ids_.push_back(ids->text);
    return {};
  }
  const bool absolute =
      left.kind == Python::Kind::kCall && (last_name(left.text) == "abs") && left.items.size() == 1;
  const auto inner = absolute ? linear(left.items[0]) : std::nullopt;
  if (inner && std::abs(inner->q) == 1 && inner->q == -inner->k && inner->number == 0) {
    const auto width = number_in(source_.text, right);
    const Index least = given.text == "<" ? 1 : 0;
    if (!width || *width < least || (given.text != "<=" && given.text != "<")) {
      source_.fail(given.position, "expected abs(q_idx - kv_idx) <= a number");
    }
    step::Window rule;
    rule.left = rule.right = *width - least;
    rule.align = aligned(inner->q * inner->keys, given.position);
    rule.spelling = step::Window::Spelling::kBoth;
    return {{{rule}}};
  }
  const auto a = linear(left), b = linear(right);
  if (!a || !b) return limited(left, right, given.text);
  const bool less = given.text.front() == '<';
  Linear form = less ? minus(*a, *b) : minus(*b, *a);
  if (given.text.size() == 1) form.number += 1;
  return at_most(form, given.position);
}

/// Matches is_global[q_idx] | is_global[kv_idx].
std::optional<Part> Expression::global(const Python& left, const Python& right) {
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
  return Part{{{std::move(rule)}}, true};
}

/// Matches kv_idx < n and q_idx < n, or both from KV_LEN - n on: padding of keys and queries.
std::optional<Part> Expression::padding(const Python& keys, const Python& queries) {
  const auto limit = [&](const Python& one, std::string_view axis) -> const Python* {
    const bool fits = one.kind == Python::Kind::kOperator && one.items.size() == 2 &&
                      (one.text == "<" || one.text == ">=") && is_index(one.items[0], axis);
    return fits ? &one.items[1] : nullptr;
  };
  const Python* of_keys = limit(keys, "kv_idx");
  const Python* of_queries = limit(queries, "q_idx");
  if (!of_keys || !of_queries || keys.text != queries.text) return std::nullopt;
  step::Pad rule;
  rule.is_lengths = rule.both = true;
  rule.left = keys.text == ">=";
  const auto length = [&](const Python& given) -> std::optional<std::vector<Index>> {
    const bool end = given.kind == Python::Kind::kOperator && given.text == "-" &&
                     given.items.size() == 2 && given.items[0].is_word("KV_LEN");
    if (end != rule.left) return std::nullopt;
    const Python& value = end ? given.items[1] : given;
    if (const auto number = number_in(source_.text, value)) return std::vector<Index>{*number};
    const bool batch = value.kind == Python::Kind::kSubscript && value.items.size() == 2 &&
                       value.items[1].is_word("b");
    return batch ? numbers_in(source_.text, value.items[0]) : std::nullopt;
  };
  const auto lengths = length(*of_keys);
  if (!lengths || lengths != length(*of_queries)) return std::nullopt;
  rule.valid = number_array(*lengths);
  return Part{{{std::move(rule)}}};
}

/// A tree of & or |, flattened into its parts.
Part Expression::both(const Python& given, int depth) {
  std::vector<const Python*> leaves = {&given};
  for (std::size_t i = 0; i < leaves.size();) {
    if (leaves[i]->kind == Python::Kind::kOperator && leaves[i]->text == given.text &&
        leaves[i]->items.size() == 2) {
      const Python* tree = leaves[i];
      leaves[i] = &tree->items[0];
      leaves.insert(leaves.begin() + static_cast<std::ptrdiff_t>(i) + 1, &tree->items[1]);
    } else {
      ++i;
    }
  }
  std::vector<Part> parts;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (given.text == "&" && i + 1 < leaves.size()) {
      if (auto part = padding(*leaves[i], *leaves[i + 1])) {
        parts.push_back(std::move(*part));
        ++i;
        continue;
      }
    }
    if (given.text == "|" && i + 1 < leaves.size()) {
      if (auto part = global(*leaves[i], *leaves[i + 1])) {
        parts.push_back(std::move(*part));
        ++i;
        continue;
      }
    }
    parts.push_back(node(*leaves[i], depth + 1));
  }
  return given.text == "&" ? all_of(std::move(parts), given.position)
                           : any_of(std::move(parts), given.position);
}

Part Expression::node(const Python& given, int depth) {
  if (depth > 64) source_.fail(given.position, "more than 64 levels");
  source_.count(given.position);
  if (given.kind == Python::Kind::kOperator) {
    if (given.items.size() == 1 && given.text == "~") {
      Part inner = node(given.items[0], depth + 1);
      Part out{standing(std::move(inner)), false, true};
      out.chain.push_back({step::Not{}});
      return out;
    }
    if (given.text == "&" || given.text == "|") return both(given, depth);
    static constexpr std::string_view kComparisons[] = {"==", "!=", "<=", ">=", "<", ">"};
    if (std::ranges::find(kComparisons, given.text) != std::end(kComparisons)) {
      return comparison(given);
    }
    source_.fail(given.position, fmt::format("'{}' where a mask was expected", given.text));
  }
  if (given.kind == Python::Kind::kWord && !given.text.empty()) {
    const Python value = resolved(source_.text, given);
    if (value.kind != Python::Kind::kWord) return node(value, depth + 1);
  }
  return call(given, depth);
}

Part Expression::call(const Python& given, int depth) {
  const std::string_view name = last_name(given.text);
  if (name == "and_masks" || name == "or_masks") {
    std::vector<Part> parts;
    for (const Python& item : given.items) parts.push_back(node(item, depth + 1));
    if (parts.empty()) source_.fail(given.position, fmt::format("{} of nothing", name));
    return name == "and_masks" ? all_of(std::move(parts), given.position)
                               : any_of(std::move(parts), given.position);
  }
  if (name == "where" && given.items.size() == 3) return heads(given, depth);
  if (name == "generate_doc_mask_mod" && given.items.size() == 2) {
    step::Within rule;
    const auto offsets = numbers_in(source_.text, given.items[1]);
    if (!offsets || offsets->empty() || offsets->front() != 0 ||
        !std::ranges::is_sorted(*offsets)) {
      source_.fail(given.items[1].position, "expected offsets that start at 0 and do not decrease");
    }
    for (std::size_t i = 1; i < offsets->size(); ++i) {
      rule.lengths.push_back((*offsets)[i] - (*offsets)[i - 1]);
    }
    rule.chain = standing(node(given.items[0], depth + 1));
    return {{{std::move(rule)}}, false, true};
  }
  if (name == "create_block_mask" && !given.items.empty()) return node(given.items[0], depth + 1);
  return named_mask(given);
}

/// Matches torch.where((h >= 0) & (h < 4), A, B): A for these heads, and B for the others.
Part Expression::heads(const Python& given, int depth) {
  const Python& which = given.items[0];
  const auto limit = [&](const Python& one, std::string_view sign) -> std::optional<Index> {
    const bool fits = one.kind == Python::Kind::kOperator && one.items.size() == 2 &&
                      one.text == sign && (one.items[0].is_word("h") || one.items[0].is_word("b"));
    return fits ? number_in(source_.text, one.items[1]) : std::nullopt;
  };
  step::Scoped rule;
  std::vector<const Python*> ranges = {&which};
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    while (ranges[i]->kind == Python::Kind::kOperator && ranges[i]->text == "|") {
      const Python* tree = ranges[i];
      ranges[i] = &tree->items[0];
      ranges.push_back(&tree->items[1]);
    }
    const Python& range = *ranges[i];
    const bool pair =
        range.kind == Python::Kind::kOperator && range.text == "&" && range.items.size() == 2;
    const auto begin = pair ? limit(range.items[0], ">=") : std::nullopt;
    const auto end = pair ? limit(range.items[1], "<") : std::nullopt;
    if (!begin || !end) source_.fail(range.position, "expected (h >= N) & (h < N)");
    rule.members.push_back({*begin, *end});
    rule.axis = range.items[0].items[0].is_word("h") ? step::Scoped::Axis::kHeads
                                                     : step::Scoped::Axis::kBatch;
  }
  // Inside, everything is opened before the steps of the heads close cells again.
  rule.chain = {{step::Prefix{Index{1} << 30}}};
  append(rule.chain, standing(node(given.items[1], depth + 1)));
  Part out{standing(node(given.items[2], depth + 1)), false, true};
  out.chain.push_back({std::move(rule)});
  return out;
}

std::vector<Index> Expression::call_numbers(const Python& given) const {
  std::vector<Index> out;
  const auto add = [&](const Python& item) {
    // Here 3+5 is a list, as in pipelines.
    std::vector<const Python*> rest = {&item};
    while (!rest.empty()) {
      const Python* one = rest.back();
      rest.pop_back();
      if (one->kind == Python::Kind::kOperator && one->text == "+" && one->items.size() == 2) {
        rest.push_back(&one->items[1]);
        rest.push_back(&one->items[0]);
        continue;
      }
      const auto number = number_in(source_.text, *one);
      if (!number) source_.fail(one->position, "expected a whole number");
      out.push_back(*number);
    }
  };
  for (const Python& item : given.items) add(item);
  for (const auto& [key, item] : given.named) add(item);
  return out;
}

Index Expression::one(const Python& given, Index least) const {
  const std::vector<Index> numbers = call_numbers(given);
  if (numbers.size() == 1 && numbers.front() >= least) return numbers.front();
  source_.fail(given.position, fmt::format("expected one number of at least {} in (...)", least));
}

std::string stripped(std::string name) {
  if (name.starts_with("generate_")) name = name.substr(9);
  for (const std::string_view tail : {"_mod", "_mask"}) {
    if (name.ends_with(tail)) name.resize(name.size() - tail.size());
  }
  return name;
}

Part Expression::named_mask(const Python& given) {
  static constexpr std::string_view kNames[] = {"and_masks",
                                                "or_masks",
                                                "causal",
                                                "sliding_window",
                                                "prefix_lm",
                                                "prefix",
                                                "sinks",
                                                "document",
                                                "chunked",
                                                "dilated",
                                                "noop",
                                                "dilated_sliding_window",
                                                "global_sliding_window"};
  if (given.kind != Python::Kind::kCall && given.kind != Python::Kind::kWord) {
    source_.fail(given.position, "expected a mask");
  }
  const std::string name(last_name(given.text));
  const std::string plain = stripped(name);
  const step::Causal causal{rows_ == Align::kTopLeft ? Align::kUnset : rows_, {}};
  if (plain == "causal") return {{{causal}}};
  if (plain == "noop" || plain == "full" || given.is_word("True")) return {};
  if (plain == "sliding_window") return {{{window_of(WindowRule::kInclusive, one(given, 0))}}};
  if (plain == "prefix_lm") return {{{causal}, {step::Prefix{one(given, 0)}}}};
  if (plain == "prefix") return {{{step::Prefix{one(given, 0)}}}, true};
  if (plain == "sinks") return {{{step::Sinks{one(given, 0)}}}, true};
  if (plain == "document" || plain == "doc")
    return {{{step::DocumentLengths{call_numbers(given)}}}};
  if (plain == "chunked" || plain == "chunk") return {{{step::Chunk{one(given, 1), 0}}}};
  if (plain == "dilated") return {{{step::Dilated{one(given, 1)}}}};
  if (plain == "dilated_sliding_window") {
    const auto numbers = call_numbers(given);
    if (numbers.size() != 2 || numbers[0] < 0 || numbers[1] < 1) {
      source_.fail(given.position, "expected (window_size, dilation)");
    }
    return {{{window_of(WindowRule::kBoth, numbers[0])}, {step::Dilated{numbers[1]}}}};
  }
  if (plain == "global_sliding_window" && given.items.size() == 2) {
    const auto width = number_in(source_.text, given.items[0]);
    Python at, keys;
    at.kind = keys.kind = Python::Kind::kSubscript;
    Python row, column;
    row.text = "q_idx";
    column.text = "kv_idx";
    at.items = {given.items[1], row};
    keys.items = {given.items[1], column};
    const auto tokens = global(at, keys);
    if (width && *width >= 0 && tokens) {
      Part out{{{window_of(WindowRule::kBoth, *width)}}};
      append(out.chain, tokens->chain);
      return out;
    }
    source_.fail(given.position, "expected (window_size, is_global) with is_global as numbers");
  }
  source_.fail(given.position,
               fmt::format("unknown mask '{}'; {}", shown(name), hint(plain, kNames)));
}

Part Expression::all_of(std::vector<Part> parts, Index position) {
  // Parts that open keys come first; all others only close cells, in any order.
  std::ranges::stable_partition(parts, [](const Part& part) { return !part.plain(); });
  Part out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && !parts[i].plain()) {
      source_.fail(position,
                   "two parts that open keys cannot be one chain; write one to a file and "
                   "use and:FILE");
    }
    append(out.chain, standing(std::move(parts[i])));
  }
  return out;
}

Part Expression::any_of(std::vector<Part> parts, Index position) {
  std::ranges::stable_partition(parts, [](const Part& part) { return !part.adds; });
  Part out;
  out.adds = parts.front().adds;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && !parts[i].adds) {
      source_.fail(position,
                   "two masks that close keys cannot be one chain; write one to a file and "
                   "use or:FILE");
    }
    append(out.chain, parts[i].chain);
  }
  return out;
}

}  // namespace

Chain chain_of_expression(const LibrarySource& source, const Python& expression, Align rows) {
  LibrarySource bare = source;
  for (const char* index : {"q_idx", "kv_idx", "Q_LEN", "KV_LEN", "b", "h", "q", "k"}) {
    bare.text.names.erase(index);
  }
  return Expression(bare, rows).read(expression);
}

std::optional<std::vector<Index>> id_lengths(const LibrarySource& source, const Python& ids) {
  Python value = resolved(source.text, ids);
  const auto is = [&](std::string_view name) { return last_name(value.text) == name; };
  for (int steps = 0; steps < 8; ++steps) {
    const bool row = value.kind == Python::Kind::kSubscript && value.items.size() == 2 &&
                     value.items[1].is_word("None");  // ids[None]: a single batch
    const bool copy = value.kind == Python::Kind::kCall && !value.items.empty() &&
                      (is("to") || is("cuda") || is("asarray") || is("array")) &&
                      resolved(source.text, value.items[0]).kind != Python::Kind::kList &&
                      value.text.find("repeat") == value.text.npos;
    if (!row && !copy) break;
    value = resolved(source.text, value.items[0]);
  }
  const bool repeats = value.kind == Python::Kind::kCall && value.items.size() >= 2 &&
                       (value.text.find("repeat_interleave") != value.text.npos || is("repeat"));
  if (repeats) return numbers_in(source.text, value.items[1]);
  const auto numbers = numbers_in(source.text, value);
  if (!numbers) return std::nullopt;
  std::vector<Index> out;
  std::vector<Index> seen;
  for (std::size_t i = 0; i < numbers->size(); ++i) {
    const Index id = (*numbers)[i];
    const bool again = i > 0 && (*numbers)[i - 1] == id;
    if (id < 0) {
      const bool rest = std::ranges::all_of(numbers->begin() + static_cast<std::ptrdiff_t>(i),
                                            numbers->end(), [](Index n) { return n < 0; });
      return rest ? std::optional(out) : std::nullopt;
    }
    if (again) {
      ++out.back();
    } else if (std::ranges::find(seen, id) != seen.end()) {
      return std::nullopt;
    } else {
      seen.push_back(id);
      out.push_back(1);
    }
  }
  return out;
}

std::optional<std::vector<Index>> packed_lengths(const LibrarySource& source, const Python& ids) {
  Python value = resolved(source.text, ids);
  // The only row of a batch.
  if (value.kind == Python::Kind::kCall && !value.items.empty())
    value = resolved(source.text, value.items[0]);
  if (value.kind == Python::Kind::kList && value.items.size() == 1) value = value.items[0];
  const auto numbers = numbers_in(source.text, value);
  if (!numbers) return std::nullopt;
  std::vector<Index> out;
  for (std::size_t i = 0; i < numbers->size(); ++i) {
    // As in find_packed_sequence_indices, a new document starts unless the position grows by one.
    if (i == 0 || (*numbers)[i] != (*numbers)[i - 1] + 1) out.push_back(0);
    ++out.back();
  }
  return out;
}

Chain parse_mask_expression(std::string_view text) {
  LibrarySource source{Library::kFlex, text, parse_python(text, "expression"), 0};
  Python mask = source.text.last;
  if (const auto mod = source.text.names.find("mask_mod"); mod != source.text.names.end()) {
    mask = mod->second;
  }
  return chain_of_expression(source, mask, Align::kTopLeft);
}

}  // namespace maskctl
