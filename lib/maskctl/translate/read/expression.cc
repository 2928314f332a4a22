#include "maskctl/translate/read/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "maskctl/mask/steps/scoped.h"
#include "maskctl/mask/steps/within.h"
#include "maskctl/pipeline/parse/diagnostic.h"
#include "maskctl/translate/read/at_positions.h"
#include "maskctl/translate/read/comparison.h"
#include "maskctl/translate/read/head_classes.h"

namespace maskctl {
namespace {

constexpr int kMostLevels = 64;

/// A node of the expression; `negated` means that its negation is meant.
struct Term {
  const Python* node;
  bool negated = false;
};

/// Which logical operation an operator or function is: "and", "or" or "not"; empty for others.
std::string_view connective(const Python& given) {
  const bool sign = given.kind == Python::Kind::kOperator;
  if (sign && given.items.size() == 1) return given.text == "~" ? "not" : "";
  if (sign) return given.text == "&" ? "and" : given.text == "|" ? "or" : "";
  if (given.kind != Python::Kind::kCall) return "";
  const std::string_view name = last_name(given.text);
  if (name == "logical_and" || name == "and_masks") return "and";
  if (name == "logical_or" || name == "or_masks") return "or";
  return name == "logical_not" ? "not" : "";
}

class Expression {
 public:
  Expression(const LibrarySource& source, Align rows)
      : source_(source), rows_(rows), comparisons_(source, rows) {}

  Chain read(const Python& given) { return standing(kept(condition_of({&given}, 0), given)); }

 private:
  Condition condition_of(const Term& term, int depth);
  Condition joined(const Term& term, std::string_view connective, int depth);
  Condition either(const Python& given, int depth);
  Condition compared(const Python& given);
  Condition call(const Python& given, int depth);
  Condition chosen(const Python& given, int depth);
  Condition inside_documents(const Python& mask, const Python& starts, int depth);
  std::vector<Term> parts_of(const Term& term, std::string_view connective);
  void take_padded(std::vector<Term>& parts, std::vector<Condition>& out);
  bool take_pair(const Term& a, const Term& b, bool all, std::vector<Condition>& out) const;
  std::vector<const Python*> operands(const Python& given) const;
  Term plain(Term term) const;
  /// The steps that keep what the condition keeps; fails if no chain can express it.
  MaskPart kept(const Condition& one, const Python& given) const;

  const LibrarySource& source_;
  Align rows_;
  Comparisons comparisons_;
};

MaskPart Expression::kept(const Condition& one, const Python& given) const {
  if (one.yes) return *one.yes;
  const bool all = connective(given) == "and";
  source_.fail(given.position, all ? "two parts that open keys cannot be one chain; write one to a "
                                     "file and use and:FILE"
                                   : "two masks that close keys cannot be one chain; write one to "
                                     "a file and use or:FILE");
}

/// The operands of a logical operation. For a method, a.logical_and(b), the object is the first: a,
/// b.
std::vector<const Python*> Expression::operands(const Python& given) const {
  std::vector<const Python*> out;
  const bool call = given.kind == Python::Kind::kCall;
  const auto receiver = call ? source_.text.names.find(given.text.substr(0, given.text.rfind('.')))
                             : source_.text.names.end();
  if (receiver != source_.text.names.end()) out.push_back(&receiver->second);
  for (const Python& item : given.items) out.push_back(&item);
  if (out.empty()) source_.fail(given.position, fmt::format("{} of nothing", given.text));
  return out;
}

/// Resolves names and removes negations around a term, keeping count of them in `negated`.
Term Expression::plain(Term term) const {
  for (int steps = 0; steps < kMostLevels; ++steps) {
    term.node = &named_value(source_.text, *term.node);
    if (const Python* mask = called_mask(source_, *term.node)) {
      term.node = mask;
      continue;
    }
    if (connective(*term.node) != "not") return term;
    term = {operands(*term.node).front(), !term.negated};
  }
  source_.fail(term.node->position, fmt::format("more than {} levels", kMostLevels));
}

/// Flattens nested operations of the same kind: a & (b & c) gives a, b, c. Inside a negation, `or`
/// counts as `and` and vice versa.
std::vector<Term> Expression::parts_of(const Term& term, std::string_view sign) {
  std::vector<Term> parts = {term};
  for (std::size_t i = 0; i < parts.size();) {
    const Term one = plain(parts[i]);
    const std::string_view own = connective(*one.node);
    const bool same = !own.empty() && (own == "and") == ((sign == "and") != one.negated);
    if (!same) {
      parts[i++] = one;
      continue;
    }
    source_.count(one.node->position);
    std::vector<Term> inner;
    for (const Python* item : operands(*one.node)) inner.push_back({item, one.negated});
    const auto at = parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i));
    parts.insert(at, inner.begin(), inner.end());
  }
  return parts;
}

/// Finds pairs of terms doc_id[q_idx] == doc_id[kv_idx] and doc_id[...] != -1 with the same ids.
/// Reads them together as documents whose padding is closed, and removes them from `parts`.
void Expression::take_padded(std::vector<Term>& parts, std::vector<Condition>& out) {
  const auto compared = [&](const Term& term) {
    return term.negated ? nullptr : comparisons_.compared_ids(*term.node);
  };
  const auto unpadded = [&](const Term& term) {
    return term.negated ? nullptr : comparisons_.unpadded_ids(*term.node);
  };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string* ids = compared(parts[i]);
    if (!ids) continue;
    const std::string name = *ids;
    const auto belongs = [&](const Term& term) {
      const std::string* other = unpadded(term);
      return other && *other == name;
    };
    if (std::ranges::none_of(parts, belongs)) continue;
    out.push_back(comparisons_.documents(*parts[i].node, true));
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i--));
    std::erase_if(parts, belongs);
    i = std::min(i, parts.size());
  }
}

/// Reads two terms that together are one rule: padding of keys and queries, or global tokens.
/// Returns false for other terms.
bool Expression::take_pair(const Term& a, const Term& b, bool all,
                           std::vector<Condition>& out) const {
  if (a.negated || b.negated) return false;
  auto pair = all ? comparisons_.padding(*a.node, *b.node) : comparisons_.global(*a.node, *b.node);
  if (all && !pair) pair = comparisons_.tree(*a.node, *b.node);
  if (pair) out.push_back(*pair);
  return pair.has_value();
}

/// The condition that all parts hold ("and"), or that any does ("or").
Condition Expression::joined(const Term& term, std::string_view sign, int depth) {
  const bool all = sign == "and";
  std::vector<Term> parts = parts_of(term, sign);
  std::vector<Condition> out;
  if (all) take_padded(parts, out);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i + 1 < parts.size() && take_pair(parts[i], parts[i + 1], all, out)) {
      ++i;
    } else {
      out.push_back(condition_of(parts[i], depth + 1));
    }
  }
  Condition result = all ? all_of(out) : any_of(out);
  kept(result, *term.node);
  return result;
}

Condition Expression::condition_of(const Term& given, int depth) {
  if (depth > kMostLevels) {
    source_.fail(given.node->position, fmt::format("more than {} levels", kMostLevels));
  }
  source_.count(given.node->position);
  const Term term = plain(given);
  const std::string_view own = connective(*term.node);
  if (!own.empty()) return joined(term, (own == "and") != term.negated ? "and" : "or", depth);
  const bool sign = term.node->kind == Python::Kind::kOperator;
  const Condition out = term.node->is_binary("^") ? either(*term.node, depth)
                        : sign                    ? compared(*term.node)
                                                  : call(*term.node, depth);
  return term.negated ? negated(out) : out;
}

/// Reads a ^ b: one of both, not the other.
Condition Expression::either(const Python& given, int depth) {
  const Condition a = condition_of({&given.items[0]}, depth + 1);
  const Condition b = condition_of({&given.items[1]}, depth + 1);
  Condition out = any_of({all_of({a, negated(b)}), all_of({negated(a), b})});
  if (!out.yes) out = all_of({any_of({a, b}), negated(all_of({a, b}))});
  if (!out.yes) source_.fail(given.position, "this ^ of two masks cannot be one chain");
  return out;
}

Condition Expression::compared(const Python& given) {
  if (!is_comparison(given)) {
    source_.fail(given.position, fmt::format("'{}' where a mask was expected", given.text));
  }
  if (const auto constant = comparison_of_numbers(source_.text, given)) {
    return condition(*constant ? all_cells() : no_cells());
  }
  if (const auto positions = comparisons_.positions(given)) return *positions;
  if (comparisons_.compared_ids(given)) return comparisons_.documents(given, false);
  if (comparisons_.unpadded_ids(given)) {
    source_.fail(given.position, "ids are compared with a number, but never with each other");
  }
  return comparisons_.read(given.items[0], given.text, given.items[1], given.position);
}

Condition Expression::call(const Python& given, int depth) {
  const std::string_view name = last_name(given.text);
  if (name == "where" && given.items.size() == 3) return chosen(given, depth);
  if (name == "generate_doc_mask_mod" && given.items.size() == 2) {
    return inside_documents(given.items[0], given.items[1], depth);
  }
  if (name == "generate_packed_causal_doc_mask_mod" && given.items.size() == 1) {
    Python causal;
    causal.text = "causal_mask";
    return inside_documents(causal, given.items[0], depth);
  }
  if (name == "create_block_mask" && !given.items.empty()) {
    return condition_of({&given.items[0]}, depth + 1);
  }
  return condition(named_mask(source_, given, rows_));
}

/// Reads where(C, A, B), which is (C and A) or (not C and B).
Condition Expression::chosen(const Python& given, int depth) {
  const Condition which = condition_of({&given.items[0]}, depth + 1);
  const Condition yes = condition_of({&given.items[1]}, depth + 1);
  const Condition no = condition_of({&given.items[2]}, depth + 1);
  Condition out = any_of({all_of({which, yes}), all_of({negated(which), no})});
  if (!out.yes) source_.fail(given.position, "this choice of two masks cannot be one chain");
  return out;
}

/// Reads a mask that applies inside each document; the offsets are where documents start.
Condition Expression::inside_documents(const Python& mask, const Python& starts, int depth) {
  step::Within rule;
  const auto offsets = numbers_in(source_.text, starts);
  if (!offsets || offsets->empty() || offsets->front() != 0 || !std::ranges::is_sorted(*offsets)) {
    source_.fail(starts.position, "expected offsets that start at 0 and do not decrease");
  }
  for (std::size_t i = 1; i < offsets->size(); ++i) {
    rule.lengths.push_back((*offsets)[i] - (*offsets)[i - 1]);
  }
  rule.chain = standing(kept(condition_of({&mask}, depth + 1), mask));
  return condition(MaskPart{{{std::move(rule)}}, false, true});
}

/// The chain of an expression that compares b (or h) with numbers: it is read once for each class
/// of batches (or heads) that these comparisons distinguish.
Chain chain_of_classes(const LibrarySource& source, const Python& given, Align rows,
                       step::Scoped::Axis axis) {
  const bool heads = axis == step::Scoped::Axis::kHeads;
  const auto read = [&](const LibrarySource& own) {
    return heads ? Expression(own, rows).read(given)
                 : chain_of_classes(own, given, rows, step::Scoped::Axis::kHeads);
  };
  const std::vector<Index> starts = class_starts(source, given, heads ? "h" : "b");
  if (starts.empty()) return read(source);
  const auto of_class = [&](Index member) {
    LibrarySource own = source;
    Python number;
    number.kind = Python::Kind::kNumber;
    number.number = member;
    own.text.names[heads ? "h" : "b"] = number;
    Chain out = read(own);
    source.parts = own.parts;
    return out;
  };
  std::vector<Chain> chains = {of_class(0)};
  for (const Index start : starts) chains.push_back(of_class(start));
  return chain_of_ranges(chains, starts, axis);
}

}  // namespace

Chain chain_of_expression(const LibrarySource& source, const Python& expression, Align rows) {
  LibrarySource bare = source;
  for (const char* index : {"q_idx", "kv_idx", "Q_LEN", "KV_LEN", "b", "h", "q", "k"}) {
    bare.text.names.erase(index);
  }
  const ReadExpression read = [&](const Python& own) {
    return chain_of_classes(bare, own, rows, step::Scoped::Axis::kBatch);
  };
  const auto attempt = [&](auto& way) -> std::optional<Chain> {
    try {
      return way(bare, expression, read);
    } catch (const PipelineError&) {
      return std::nullopt;
    }
  };
  if (auto inside = attempt(chain_inside_documents)) return *inside;
  try {
    return read(expression);
  } catch (const PipelineError&) {
    if (auto at = attempt(chain_at_tokens)) return *at;
    throw;
  }
}

Chain chain_of_masked_call(const LibrarySource& source, std::string_view mask) {
  Chain out;
  if (const Python* dense = given_argument(source, mask)) {
    out = chain_of_expression(source, *dense, Align::kTopLeft);
  }
  append(out, chain_of_call(source));
  return out;
}

Chain read_mask_mod(const LibrarySource& source) {
  const auto mod = source.text.names.find("mask_mod");
  const Python& mask = mod != source.text.names.end() ? mod->second : source.text.last;
  return chain_of_expression(source, mask, Align::kTopLeft);
}

}  // namespace maskctl
