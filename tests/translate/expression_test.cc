// Mask functions of q_idx and kv_idx: the mask that is read is the one that Python would compute,
// for random expressions in all the ways in which people write them.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/pipeline/parse/diagnostic.h"
#include "support/catch_compat.h"
#include "support/rounds.h"
#include "translate/libraries.h"

namespace maskctl {
namespace {

using test::lib;

struct Place {
  Index b = 0, h = 0, q = 0, k = 0;
};
/// A term as Python code, and a function that computes it.
struct Term {
  std::string text;
  std::function<bool(const Place&)> holds;
};

constexpr Index kBatch = 2, kHeads = 3;
const std::vector<Index> kDocuments = {0, 0, 0, 1, 1, 2, 2, 2, 2};
const std::vector<Index> kPadded = {0, 0, 1, 1, 1, 1, -1, -1, -1};
const std::vector<Index> kLengths = {5, 3};

class Draws {
 public:
  explicit Draws(unsigned seed) : random_(seed) {}

  Index pick(Index low, Index high) {
    return low + static_cast<Index>(random_() % static_cast<unsigned>(high - low + 1));
  }
  Term tree(int depth);
  /// The code of a function that returns the term: a lambda, or several lines.
  std::string function(const Term& term);

 private:
  Term atom();
  Term line();
  Term array();
  Term pair(int depth);

  std::mt19937 random_;
};

using Compare = bool (*)(Index, Index);
struct Sign {
  const char* text;
  Compare holds;
};
const Sign kSigns[] = {{"<", [](Index a, Index b) { return a < b; }},
                       {"<=", [](Index a, Index b) { return a <= b; }},
                       {">", [](Index a, Index b) { return a > b; }},
                       {">=", [](Index a, Index b) { return a >= b; }},
                       {"==", [](Index a, Index b) { return a == b; }},
                       {"!=", [](Index a, Index b) { return a != b; }}};

/// A random comparison of indices with numbers.
Term Draws::line() {
  const Index n = pick(0, 4), size = pick(1, 4);
  const Sign sign = kSigns[pick(0, 5)], order = kSigns[pick(0, 3)];
  const auto compared = [](const std::string& a, const Sign& how, const std::string& b, auto left,
                           auto right) {
    return Term{fmt::format("({} {} {})", a, how.text, b),
                [=](const Place& at) { return how.holds(left(at), right(at)); }};
  };
  const auto number = [n](const Place&) { return n; };
  const std::string text = std::to_string(n);
  switch (pick(0, 8)) {
    case 0:
      return compared(
          fmt::format("q_idx + {}", n), order, "kv_idx", [n](const Place& at) { return at.q + n; },
          [](const Place& at) { return at.k; });
    case 1:
      return compared(
          "q_idx - kv_idx", order, text, [](const Place& at) { return at.q - at.k; }, number);
    case 2:
      return compared(
          "(q_idx - kv_idx).abs()", order, text,
          [](const Place& at) { return std::abs(at.q - at.k); }, number);
    case 3:
      return compared(text, order, "torch.abs(kv_idx - q_idx)", number,
                      [](const Place& at) { return std::abs(at.q - at.k); });
    case 4:
      return compared(
          "kv_idx", sign, text, [](const Place& at) { return at.k; }, number);
    case 5:
      return compared(
          "q_idx", sign, text, [](const Place& at) { return at.q; }, number);
    case 6:
      return compared(
          fmt::format("q_idx // {}", size), sign, fmt::format("kv_idx // {}", size),
          [size](const Place& at) { return at.q / size; },
          [size](const Place& at) { return at.k / size; });
    case 7:
      return compared(
          fmt::format("(kv_idx + {}) // {}", n, size), sign, fmt::format("q_idx // {}", size),
          [=](const Place& at) { return (at.k + n) / size; },
          [size](const Place& at) { return at.q / size; });
    default:
      return compared(
          "h", sign, std::to_string(n % kHeads), [](const Place& at) { return at.h; },
          [n](const Place&) { return n % kHeads; });
  }
}

/// A random term that reads an array.
Term Draws::array() {
  const auto at = [](const std::vector<Index>& values, Index i) {
    return values[static_cast<std::size_t>(i)];
  };
  switch (pick(0, 4)) {
    case 0:
      return {"(doc[q_idx] == doc[kv_idx])",
              [=](const Place& p) { return at(kDocuments, p.q) == at(kDocuments, p.k); }};
    case 1:
      return {"((ids[q_idx] == ids[kv_idx]) & (ids[q_idx] != -1))", [=](const Place& p) {
                return at(kPadded, p.q) == at(kPadded, p.k) && at(kPadded, p.q) != -1;
              }};
    case 2:
      return {"(ids[kv_idx] == ids[q_idx])",
              [=](const Place& p) { return at(kPadded, p.q) == at(kPadded, p.k); }};
    case 3:
      return {"(kv_idx < length[b])", [=](const Place& p) { return p.k < at(kLengths, p.b); }};
    default:
      return {"(q_idx < length[b])", [=](const Place& p) { return p.q < at(kLengths, p.b); }};
  }
}

Term Draws::atom() { return pick(0, 4) == 0 ? array() : line(); }

Term Draws::pair(int depth) {
  const Term a = tree(depth - 1), b = tree(depth - 1);
  const bool all = pick(0, 2) > 0;
  const auto text = [&](const char* sign, const char* name) {
    switch (pick(0, 3)) {
      case 0:
        return fmt::format("torch.{}({}, {})", name, a.text, b.text);
      case 1:
        return fmt::format("{}.{}({})", a.text, name, b.text);
      default:
        return fmt::format("({} {} {})", a.text, sign, b.text);
    }
  };
  if (all) {
    return {text("&", "logical_and"), [=](const Place& p) { return a.holds(p) && b.holds(p); }};
  }
  return {text("|", "logical_or"), [=](const Place& p) { return a.holds(p) || b.holds(p); }};
}

Term Draws::tree(int depth) {
  if (depth == 0) return atom();
  const Index kind = pick(0, 8);
  if (kind == 0) {
    const Term a = tree(depth - 1);
    const char* name = pick(0, 1) == 0 ? "~" : "torch.logical_not";
    return {fmt::format("({}({}))", name, a.text), [=](const Place& p) { return !a.holds(p); }};
  }
  if (kind == 1) {
    const Term which = line(), a = tree(depth - 1), b = tree(depth - 1);
    return {fmt::format("torch.where({}, {}, {})", which.text, a.text, b.text),
            [=](const Place& p) { return which.holds(p) ? a.holds(p) : b.holds(p); }};
  }
  return pair(depth);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string Draws::function(const Term& term) {
  const std::string arrays =
      "doc = torch.tensor([0, 0, 0, 1, 1, 2, 2, 2, 2], device=q.device)\n"
      "ids = torch.tensor([0, 0, 1, 1, 1, 1, -1, -1, -1])\n"
      "length = torch.tensor([5, 3])\n";
  switch (pick(0, 2)) {
    case 0:
      return arrays + "mask_mod = lambda b, h, q_idx, kv_idx: " + term.text;
    case 1: {  // arguments known by their order alone
      const std::string text = replaced(replaced(term.text, "q_idx", "row"), "kv_idx", "column");
      return arrays + "def mask_mod(b, h, row, column):\n    return " + text;
    }
    default:
      return arrays + "def mask_mod(b, h, q_idx, kv_idx):\n    \"\"\"A mask.\"\"\"\n    kept = " +
             term.text + "\n    kept = kept & (kv_idx >= 0)\n\n    return kept";
  }
}

using Sizes = std::vector<std::pair<Index, Index>>;

/// Checks that the mask of the chain is what the term computes, in all cells of the sizes.
void check_cells(const Chain& chain, const Term& term, const Sizes& sizes) {
  for (const auto& [queries, keys] : sizes) {
    const Mask mask = maskctl::apply(full_mask(kBatch, kHeads, queries, keys), chain);
    for (Index i = 0; i < kBatch * kHeads * queries * keys; ++i) {
      const Place at{i / (kHeads * queries * keys), i / (queries * keys) % kHeads,
                     i / keys % queries, i % keys};
      INFO("b=" << at.b << " h=" << at.h << " q=" << at.q << " k=" << at.k);
      const bool open = mask.plane(at.b, at.h)->count({at.q, at.q + 1}, {at.k, at.k + 1}) == 1;
      REQUIRE(open == term.holds(at));
    }
  }
}

/// True if the term needs as many queries as keys, because it has document ids or padding of
/// queries.
bool needs_square(const std::string& text) {
  return text.find("doc[") != text.npos || text.find("ids[") != text.npos ||
         text.find(" < length[b]") != text.npos;
}

TEST_CASE("expressions: the mask that is read equals what Python computes") {
  Draws draws(36);
  int read = 0, refused = 0;
  for (int round = 0; round < test::rounds(3000); ++round) {
    const Term term = draws.tree(static_cast<int>(draws.pick(0, 3)));
    const std::string text = draws.function(term);
    INFO(text);
    Chain chain;
    try {
      chain = lib("flex").read(text);
    } catch (const PipelineError&) {
      ++refused;
      continue;
    }
    ++read;
    INFO("read as " << to_text(chain));
    const bool square = needs_square(text.substr(text.find("mask_mod")));
    check_cells(chain, term, square ? Sizes{{9, 9}} : Sizes{{9, 9}, {6, 9}, {9, 6}});
  }
  CHECK(2 * read > refused);
}

std::string text_of(const std::string& function) { return to_text(lib("flex").read(function)); }

TEST_CASE("expressions: mask functions are read as people write them") {
  CHECK(text_of("def mask_mod(b, h, q_idx, kv_idx):\n"
                "    causal = q_idx >= kv_idx\n"
                "    window = q_idx - kv_idx <= 4\n"
                "    return causal & window") ==
        text_of("(q_idx >= kv_idx) & (q_idx - kv_idx <= 4)"));
  CHECK(text_of("def causal(b, h, q, k):\n    return q >= k\n"
                "def window(b, h, q, k):\n    return q - k < 4\n"
                "def mask_mod(b, h, q, k):\n    return causal(b, h, q, k) & window(b, h, q, k)") ==
        text_of("(q_idx >= kv_idx) & (q_idx - kv_idx < 4)"));
  CHECK(text_of("~(~(q_idx >= kv_idx) | ~(q_idx - kv_idx < 4))") ==
        text_of("(q_idx >= kv_idx) & (q_idx - kv_idx < 4)"));
  CHECK(text_of("torch.logical_and(q_idx >= kv_idx, (q_idx - kv_idx).abs() < 4)") ==
        text_of("(q_idx >= kv_idx) & (abs(q_idx - kv_idx) < 4)"));
  CHECK(text_of("(h == 0) | (q_idx >= kv_idx)") ==
        "causal:align=top-left | heads:0{prefix:n=1073741824}");
}

std::string failure_of(const std::string& text) {
  try {
    lib("flex").read(text);
  } catch (const PipelineError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("expressions: the error about an unreadable function gives the reason") {
  CHECK(failure_of("(h % 2 == 0) & (q_idx >= kv_idx)").find("expected h compared") !=
        std::string::npos);
  CHECK(failure_of("def mask_mod(b, h, q, k):\n    for i in x:\n        y = 1\n    return q >= k")
            .find("expected an assignment") != std::string::npos);
  CHECK(failure_of("w = 4\nm = q_idx - kv_idx < w\nw = 8\nm").find("assigned again") !=
        std::string::npos);
  // Only id -1 is read as padding.
  CHECK(failure_of("ids = torch.tensor([0, 0, -2, -2])\n(ids[q_idx] == ids[kv_idx]) & (ids[q_idx] "
                   "!= -1)") != "");
  CHECK(failure_of("ids = torch.tensor([0, 0, 1])\n(ids[q_idx] != -1) | (q_idx >= kv_idx)")
            .find("never with each other") != std::string::npos);
  CHECK(failure_of("n = torch.tensor([3, 4])\n((b == 0) | (q_idx >= kv_idx)) & (kv_idx < n[b])")
            .find("b indexes an array") != std::string::npos);
  CHECK(failure_of("or_masks(document(3+4), chunked(4))").find("or:FILE") != std::string::npos);
}

}  // namespace
}  // namespace maskctl
