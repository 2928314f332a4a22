// drafts: blocks of draft tokens behind their context, each of which sees the context up to its
// anchor and, both ways, itself (the training of DFlash, speculators#248).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/guess.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

/// The last Q keys are the queries, in blocks of `size`, the last of which may be shorter; the keys
/// before them are the context. A query of block i sees the first anchors[i] keys of the context
/// and all keys of its own block.
struct Drafts {
  Index size = 0;
  std::vector<Index> anchors = {};
  friend bool operator==(const Drafts&, const Drafts&) = default;
};
const RuleInfo& row(const Drafts*);

std::string words(const Drafts& rule) { return fmt::format("drafts of {} tokens", rule.size); }

Meets meets(const Drafts&) { return Meets::kKeeps; }

Mask cells(const Drafts& rule, const MaskShape& shape) {
  if (rule.size < 1) refuse("drafts", fmt::format("size {}: expected at least 1", rule.size));
  const Index context = shape.keys - shape.queries;
  if (context < 0 || ceil_div(shape.queries, rule.size) != std::ssize(rule.anchors)) {
    refuse("drafts", fmt::format("{}: expected {} blocks of {} queries, one per anchor, and keys "
                                 "for all of them behind the context",
                                 shape_text(shape), rule.anchors.size(), rule.size));
  }
  std::vector<Slab> slabs;
  for (Index first = 0; first < shape.queries; first += rule.size) {
    const Index end = std::min(first + rule.size, shape.queries);
    const Index anchor = std::min(rule.anchors[as_size(first / rule.size)], context);
    slabs.push_back({{first, end}, {{0, anchor, 0, 0}, {context + first, context + end, 0, 0}}});
  }
  return Mask(bands(shape.queries, shape.keys, slabs));
}

PairReason reason(const Drafts& rule, const MaskShape& shape, const Cell& cell) {
  const Index context = shape.keys - shape.queries, block = cell.query / rule.size;
  if (cell.key < context) {
    const Index anchor = rule.anchors[as_size(block)];
    return {cell.key < anchor, fmt::format("query {} is in block {}, which sees {} keys of the "
                                           "context, key {} is {} of these",
                                           cell.query, block, std::min(anchor, context), cell.key,
                                           cell.key < anchor ? "one" : "none")};
  }
  const Index other = (cell.key - context) / rule.size;
  return {other == block, fmt::format("query {} is in block {}, key {} in block {} (size={})",
                                      cell.query, block, cell.key, other, rule.size)};
}

Expr formula(const Drafts& rule) {
  Tensor anchors(DType::kInt64, {std::ssize(rule.anchors)});
  std::ranges::copy(rule.anchors, anchors.as<std::int64_t>().begin());
  const Expr context = expr::diagonal(Align::kBottomRight) - expr::query();
  const Expr block = expr::floor_divide(expr::query(), rule.size);
  return expr::where(expr::key() < context,
                     expr::key() < expr::element("anchors", anchors, {block}),
                     expr::floor_divide(expr::key() - context, rule.size) == block);
}

/// Reads the size off the keys behind the context that the first rows see, and the anchors off the
/// first row of each block. Equal anchors are a prefix.
std::vector<Chain> guesses(const Drafts*, const SampledRows& rows) {
  const Index context = rows.keys() - rows.queries();
  if (context < 1 || rows.queries() < 2) return {};
  const auto own = [&](Index query) -> Index {  // keys of its block that a query sees
    const auto row = rows.row(query);
    if (row.runs.empty()) return 0;
    return row.runs.back().end - std::max<Index>(row.runs.back().begin, context);
  };
  Drafts rule{.size = std::max(own(0), own(1))};
  if (rule.size < 1 || rule.size >= rows.queries()) return {};
  for (Index first = 0; first < rows.queries(); first += rule.size) {
    const auto row = rows.row(first);
    const bool sees = !row.runs.empty() && row.runs.front().begin == 0;
    rule.anchors.push_back(sees ? std::min<Index>(row.runs.front().end, context) : 0);
  }
  if (std::ranges::count(rule.anchors, rule.anchors.front()) == std::ssize(rule.anchors)) return {};
  return {{Step(std::move(rule))}};
}

namespace {

constexpr std::array kDraftsFields = {
    fields::of<&Drafts::size>(
        {.name = "size", .help = "queries in a block", .required = true, .min = 1}),
    fields::of<&Drafts::anchors>({.name = "anchors",
                                  .type = FieldType::kLengths,
                                  .help = "keys of the context that each block sees: 12+16+21",
                                  .required = true})};

constexpr std::array kDraftsNames = {StepInfo{
    .name = "drafts",
    .kind = StepKind::kAnd,
    .meaning = "keeps what blocks of drafts see: the context up to an anchor, and themselves",
    .formula = "k < K - Q ? k < anchors[q / size] : (k - (K - Q)) / size == q / size",
    .example = "drafts:size=4,anchors=5+9",
    .args = kDraftsFields,
    .noun = "drafts",
    .synonyms = "dflash draft anchors speculators",
    .make = blank<Drafts>}};
constexpr RuleInfo kDraftsRow =
    describe<Drafts>(kDraftsNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const Drafts*) { return kDraftsRow; }

}  // namespace maskctl::step
