#include "maskctl/mask/steps/scoped.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/mask/steps/inner_chain.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

bool operator==(const Scoped& a, const Scoped& b) {
  return a.axis == b.axis && a.members == b.members && a.chain == b.chain;
}

std::size_t name_index(const Scoped& rule) { return rule.axis == Scoped::Axis::kHeads ? 0 : 1; }

std::string words(const Scoped&) { return "heads or batches"; }

std::optional<Step> declared(const Scoped& rule, const MaskShape& shape) {
  MaskShape part = shape;
  Index& extent = rule.axis == Scoped::Axis::kHeads ? part.heads : part.batch;
  extent = std::ssize(members_of(rule, extent));
  Scoped inside = rule;
  inside.chain = declaring(rule.chain, part);
  return inside.chain.empty() ? std::nullopt : std::optional<Step>(inside);
}

Meets meets(const Scoped&) { return Meets::kOwn; }

std::vector<Index> members_of(const Scoped& rule, Index extent) {
  std::vector<Index> members;
  for (const Range& range : rule.members) {
    if (range.begin < 0 || range.end > extent || range.empty()) {
      refuse(rule.axis == Scoped::Axis::kHeads ? "heads" : "batch",
             fmt::format("{}{} is out of range: there are {} (0 to {})", range.begin,
                         range.size() == 1 ? "" : fmt::format("-{}", range.end - 1), extent,
                         extent - 1));
    }
    for (Index i = range.begin; i < range.end; ++i) {
      if (std::find(members.begin(), members.end(), i) == members.end()) members.push_back(i);
    }
  }
  return members;
}

Mask apply_rule(const Scoped& rule, const Mask& mask) {
  const bool on_heads = rule.axis == Scoped::Axis::kHeads;
  const std::string_view name = on_heads ? "heads" : "batch";
  const auto members = members_of(rule, on_heads ? mask.heads() : mask.batch());
  const auto size = std::ssize(members);
  const Index batch = on_heads ? mask.batch() : size;
  const Index heads = on_heads ? size : mask.heads();
  const auto member = [&](Index i) { return members[as_size(i)]; };
  const Mask part = Mask::make(batch, heads, mask.queries(), mask.keys(), [&](Index b, Index h) {
    return on_heads ? mask.plane(b, member(h)) : mask.plane(member(b), h);
  });
  const Mask changed = apply_inner(rule.chain, part, name);
  return Mask::make(mask.batch(), mask.heads(), mask.queries(), mask.keys(), [&](Index b, Index h) {
    const auto at = std::find(members.begin(), members.end(), on_heads ? h : b);
    if (at == members.end()) return mask.plane(b, h);
    const Index i = at - members.begin();
    return on_heads ? changed.plane(b, i) : changed.plane(i, h);
  });
}

std::optional<Inside> inside(const Scoped& rule, const MaskShape& shape, const Cell& cell) {
  const bool on_heads = rule.axis == Scoped::Axis::kHeads;
  Inside out{shape, cell};
  Index& extent = on_heads ? out.shape.heads : out.shape.batch;
  Index& index = on_heads ? out.cell.head : out.cell.batch;
  const auto members = members_of(rule, extent);
  const auto at = std::ranges::find(members, index);
  if (at == members.end()) return std::nullopt;
  extent = std::ssize(members);
  index = at - members.begin();
  return out;
}

StepScope scope(const Scoped& rule) { return {rule.axis == Scoped::Axis::kHeads, rule.members}; }

/// Returns true for every cell: heads and batches that the step does not name stay as they are.
PairReason reason(const Scoped& rule, const MaskShape& shape, const Cell& cell) {
  const bool on_heads = rule.axis == Scoped::Axis::kHeads;
  return {true, fmt::format("{} {} is {} of them", on_heads ? "head" : "batch",
                            on_heads ? cell.head : cell.batch,
                            inside(rule, shape, cell) ? "one" : "none")};
}

CellFormula formula(const Scoped&) { return no_formula("it applies a chain"); }

namespace {

constexpr Field scoped_members(std::string_view help) {
  return fields::of<&Scoped::members>({.name = "LIST",
                                       .type = FieldType::kRanges,
                                       .help = help,
                                       .required = true,
                                       .positional = true});
}
constexpr std::array kHeadsFields = {
    scoped_members("heads and ranges of heads, both ends included")};
constexpr std::array kBatchFields = {
    scoped_members("batches and ranges of batches, both ends included")};

template <Scoped::Axis axis>
Step scoped_on() {
  return {Scoped{axis, {}, {}}};
}

constexpr std::array kScopedNames = {
    StepInfo{.name = "heads",
             .kind = StepKind::kOwn,
             .meaning = "applies a chain to some heads; the others stay",
             .formula = "chain(mask[:, h]) for h in LIST",
             .example = "heads:0-3{window:keys=128}",
             .args = kHeadsFields,
             .synonyms = "head",
             .make = scoped_on<Scoped::Axis::kHeads>,
             .chain = chain_in<Scoped>},
    StepInfo{.name = "batch",
             .kind = StepKind::kOwn,
             .meaning = "applies a chain to some batches; the others stay",
             .formula = "chain(mask[b]) for b in LIST",
             .example = "batch:0{causal}",
             .args = kBatchFields,
             .synonyms = "batches",
             .make = scoped_on<Scoped::Axis::kBatch>,
             .chain = chain_in<Scoped>}};
constexpr RuleInfo kScopedRow =
    describe<Scoped>(kScopedNames, Reopening::kHarmless, Declares::kPart);

}  // namespace

const RuleInfo& row(const Scoped*) { return kScopedRow; }

}  // namespace maskctl::step
