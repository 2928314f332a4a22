// and_masks/or_masks expressions as chains.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "maskctl/pipeline/diagnostic.h"
#include "maskctl/pipeline/foreign.h"
#include "maskctl/pipeline/foreign_text.h"

namespace maskctl {
namespace {

constexpr int kMaxDepth = 16;

bool opens(const Step& step) {
  return std::holds_alternative<step::Prefix>(step.rule) ||
         std::holds_alternative<step::Sinks>(step.rule);
}

/// A part of an expression as steps on an all-open mask. `adds`: steps that only open, meant as a
/// mask of their own.
struct Part {
  Chain chain;
  bool adds = false;
  bool plain() const { return !adds && std::ranges::none_of(chain, opens); }
};

void append(Chain& to, const Chain& from) { std::ranges::copy(from, std::back_inserter(to)); }

std::string stripped(std::string name) {
  if (name.starts_with("generate_")) name = name.substr(9);
  for (const std::string_view tail : {"_mod", "_mask"}) {
    if (name.ends_with(tail)) name.resize(name.size() - tail.size());
  }
  return name;
}

class Expression {
 public:
  explicit Expression(std::string_view given) : text_(given, "expression") {}

  Chain read() {
    Part part = node(0);
    if (!text_.at_end()) text_.fail("expected the end");
    return standing(std::move(part));
  }

 private:
  Part node(int depth);
  Part leaf(const std::string& name, Index begin);
  Part all_of(std::vector<Part> parts, Index begin);
  Part any_of(std::vector<Part> parts, Index begin);
  std::vector<Index> numbers();
  Index one(Index begin, Index least);

  /// What only opens, as a chain on an all-open mask: closed first.
  static Chain standing(Part part) {
    if (!part.adds) return std::move(part.chain);
    Chain out = {{step::Not{}}};
    append(out, part.chain);
    return out;
  }

  ForeignText text_;
};

Part Expression::node(int depth) {
  text_.at_end();
  const Index begin = text_.position();
  if (depth > kMaxDepth) text_.fail(fmt::format("more than {} levels", kMaxDepth));
  const std::string name = text_.word();
  if (name != "and_masks" && name != "or_masks") return leaf(name, begin);
  std::vector<Part> parts;
  text_.need('(');
  do {
    parts.push_back(node(depth + 1));
  } while (text_.take(','));
  text_.need(')');
  return name == "and_masks" ? all_of(std::move(parts), begin) : any_of(std::move(parts), begin);
}

std::vector<Index> Expression::numbers() {
  std::vector<Index> out;
  if (!text_.take('(')) return out;
  if (text_.take(')')) return out;
  do {
    // 3+5 is read number by number; the '+' is no part of a word.
    do {
      out.push_back(text_.required_number());
    } while (text_.take('+'));
  } while (text_.take(','));
  text_.need(')');
  return out;
}

Index Expression::one(Index begin, Index least) {
  const std::vector<Index> given = numbers();
  if (given.size() == 1 && given.front() >= least) return given.front();
  text_.fail_at(begin, fmt::format("expected one number of at least {} in (...)", least));
}

Part Expression::leaf(const std::string& name, Index begin) {
  static constexpr std::string_view kNames[] = {"and_masks", "or_masks", "causal", "sliding_window",
                                                "prefix_lm", "prefix",   "sinks",  "document",
                                                "chunked",   "dilated"};
  const std::string plain = stripped(name);
  if (plain == "causal") {
    numbers();
    return {{{step::Causal{}}}};
  }
  if (plain == "sliding_window") {
    return {{{window_of(WindowRule::kInclusive, one(begin, 0))}}};
  }
  if (plain == "prefix_lm") return {{{step::Causal{}}, {step::Prefix{one(begin, 0)}}}};
  if (plain == "prefix") return {{{step::Prefix{one(begin, 0)}}}, true};
  if (plain == "sinks") return {{{step::Sinks{one(begin, 0)}}}, true};
  if (plain == "document" || plain == "doc") return {{{step::DocumentLengths{numbers()}}}};
  if (plain == "chunked" || plain == "chunk") return {{{step::Chunk{one(begin, 1), 0}}}};
  if (plain == "dilated") return {{{step::Dilated{one(begin, 1)}}}};
  text_.fail_at(begin, fmt::format("unknown mask '{}'; {}", shown(name), hint(plain, kNames)));
}

Part Expression::all_of(std::vector<Part> parts, Index begin) {
  // What opens keys comes first; everything else only closes, in any order.
  std::ranges::stable_partition(parts, [](const Part& part) { return !part.plain(); });
  Part out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && !parts[i].plain()) {
      text_.fail_at(begin,
                    "two parts that open keys cannot be one chain; write one to a file and "
                    "use and:FILE");
    }
    append(out.chain, standing(std::move(parts[i])));
  }
  return out;
}

Part Expression::any_of(std::vector<Part> parts, Index begin) {
  std::ranges::stable_partition(parts, [](const Part& part) { return !part.adds; });
  Part out;
  out.adds = parts.front().adds;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && !parts[i].adds) {
      text_.fail_at(begin,
                    "two masks that close keys cannot be one chain; write one to a file and "
                    "use or:FILE");
    }
    append(out.chain, parts[i].chain);
  }
  return out;
}

}  // namespace

Chain parse_mask_expression(std::string_view text) { return Expression(text).read(); }

}  // namespace maskctl
