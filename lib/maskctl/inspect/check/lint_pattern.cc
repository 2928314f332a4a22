// Findings in masks that a few steps nearly explain.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "maskctl/inspect/check/lint.h"
#include "maskctl/mask/planes/bands.h"

namespace maskctl {
namespace {

/// If more than one in so many cells is unexplained, they are a pattern of their own. The limit is
/// stricter for steps with arrays, which can bend around cells that they should not explain.
constexpr Index kMostOfNumbers = 64, kMostOfArrays = 1024;
constexpr Index kAlways = 2;  // this few are exceptions in any mask
constexpr std::size_t kListed = 4;

/// True for steps whose arguments are a few numbers.
bool is_plain(const Chain& chain) {
  return std::ranges::all_of(chain, [](const Step& step) {
    if (const auto* scoped = std::get_if<step::Scoped>(&step.rule)) return is_plain(scoped->chain);
    return !std::holds_alternative<step::Document>(step.rule) &&
           !std::holds_alternative<step::Tokens>(step.rule) &&
           !std::holds_alternative<step::Block>(step.rule) &&
           !std::holds_alternative<step::Global>(step.rule);
  });
}

bool is_inverse(const Chain& chain) {
  return !chain.empty() && std::holds_alternative<step::Not>(chain.back().rule);
}

/// Queries are tokens among the keys, and in no head do most of them see themselves.
bool hides_selves(const Mask& mask) {
  if (mask.queries() != mask.keys()) return false;
  return std::ranges::all_of(mask.distinct(), [](const PlanePtr& plane) {
    const Index tokens = plane->keys();
    const PlanePtr own = diagonal_band(tokens, tokens, 0, 0);
    return 2 * combine(Op::kAnd, plane, own)->count() < tokens;
  });
}

/// True when many cells share few rows or columns: then they follow a rule of their own, such as
/// global tokens or a prefix inside documents, and are not stray cells.
bool is_crowded(const Residue& residue) {
  if (residue.cells <= 8) return false;
  const auto lines = [&](Index Cell::*coordinate) {
    std::set<Index> seen;
    for (const Cell& cell : residue.first) seen.insert(cell.*coordinate);
    return seen.size();
  };
  return 2 * std::min(lines(&Cell::query), lines(&Cell::key)) < residue.first.size();
}

/// For example "query 17, key 3; query 17, key 4 and 12 more"; batch and head are named if they are
/// not 0.
std::string cells_text(const Residue& residue) {
  std::string out;
  const std::size_t listed = std::min(residue.first.size(), kListed);
  for (std::size_t i = 0; i < listed; ++i) {
    const Cell& cell = residue.first[i];
    if (i > 0) out += "; ";
    if (cell.batch > 0) out += fmt::format("batch {}, ", cell.batch);
    if (cell.head > 0) out += fmt::format("head {}, ", cell.head);
    out += fmt::format("query {}, key {}", cell.query, cell.key);
  }
  const Index more = residue.cells - static_cast<Index>(listed);
  return more > 0 ? out + fmt::format(" and {} more", more) : out;
}

}  // namespace

Findings lint_pattern(const Recognised& found, const std::string& words, const std::string& text,
                      const Mask& mask) {
  Findings out;
  const Index cells = mask.cells();
  if (found.chain.empty()) return out;
  if (found.residue.cells == 0) {
    if (is_inverse(found.chain) && is_plain(found.chain) && hides_selves(mask)) {
      out.push_back({&lint_rule("polarity"),
                     fmt::format("the mask is the inverse of one: {}", text),
                     {},
                     cells});
    }
    return out;
  }
  const Index share = is_plain(found.chain) ? kMostOfNumbers : kMostOfArrays;
  const bool few = found.residue.cells <= std::max(kAlways, cells / share);
  if (found.irregular || !few || is_crowded(found.residue) || found.residue.first.empty())
    return out;
  const Cell& at = found.residue.first.front();
  out.push_back({&lint_rule("nearly"),
                 fmt::format("{}{} except for {} cell{}: {}", words,
                             words == text ? "" : " (" + text + ")", found.residue.cells,
                             found.residue.cells == 1 ? "" : "s", cells_text(found.residue)),
                 {at.batch, at.head, at.query, at.key, {}, {}},
                 found.residue.cells});
  return out;
}

}  // namespace maskctl
