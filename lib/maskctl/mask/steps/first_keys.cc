#include "maskctl/mask/steps/first_keys.h"

#include <fmt/format.h>

#include <array>
#include <concepts>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {
namespace {

template <typename Rule>
concept FirstKeys = std::same_as<Rule, Prefix> || std::same_as<Rule, Sinks>;

template <typename Rule>
constexpr std::string_view kFirstKeysName = std::same_as<Rule, Prefix> ? "prefix" : "sinks";

}  // namespace

std::string words(const Prefix& rule) { return fmt::format("prefix {}", rule.n); }
std::string words(const Sinks& rule) { return fmt::format("sinks {}", rule.n); }

Meets meets(const FirstKeys auto&) { return Meets::kOpens; }

template <FirstKeys Rule>
Mask cells(const Rule& rule, const MaskShape& shape) {
  const auto first = [&](Index n) {
    if (n < 0) refuse(kFirstKeysName<Rule>, fmt::format("n={}: expected at least 0", n));
    return rectangle(shape.queries, shape.keys, {0, shape.queries}, {0, std::min(n, shape.keys)});
  };
  if (rule.each.empty()) return Mask(first(rule.n));
  return per_values(shape, first, per_batch(shape, rule.each, kFirstKeysName<Rule>, "n"));
}

template <FirstKeys Rule>
PairReason reason(const Rule& rule, const MaskShape&, const Cell& cell) {
  const Index n = of_batch(rule.each, cell.batch, rule.n);
  return {cell.key < n,
          fmt::format("key {} is {} n={}", cell.key, cell.key < n ? "below" : "not below", n)};
}

template <FirstKeys Rule>
Rule idle(const Rule&, const MaskShape&) {
  return {0};
}

template <FirstKeys Rule>
Expr formula(const Rule& rule) {
  return expr::key() < expr::of_batch("first", rule.each, rule.n);
}

/// Prefix and sinks are the same rule under two names, so they are compared with each other. Lists
/// of numbers are compared as any other argument.
template <FirstKeys Rule>
std::optional<Reason> change(const Rule& a, const Step& b) {
  const auto* prefix = b.get_if<Prefix>();
  const auto* sinks = b.get_if<Sinks>();
  if (!prefix && !sinks) return std::nullopt;
  if (!a.each.empty() || !(prefix ? prefix->each : sinks->each).empty()) return std::nullopt;
  Reason out = Reason::unchanged();
  out.compare(kFirstKeysName<Rule>, a.n, prefix ? prefix->n : sinks->n);
  return out;
}

namespace {

template <FirstKeys Rule>
constexpr std::array kFirstKeysFields = {fields::number_or_each<Rule, &Rule::n, &Rule::each>(
    {.name = "n",
     .help = "number of keys, from the first on; or one per batch (3+0 or a SOURCE)",
     .required = true})};

constexpr std::array kPrefixNames = {
    StepInfo{.name = "prefix",
             .kind = StepKind::kOr,
             .meaning = "opens the first keys for every query (prefix LM)",
             .formula = "k < n",
             .example = "prefix:n=16",
             .args = kFirstKeysFields<Prefix>,
             .synonyms = "prefix-lm prefixlm bidirectional",
             .make = blank<Prefix>}};
constexpr std::array kSinksNames = {
    StepInfo{.name = "sinks",
             .kind = StepKind::kOr,
             .meaning = "opens the first keys for every query (attention sinks)",
             .formula = "k < n",
             .example = "sinks:n=4",
             .args = kFirstKeysFields<Sinks>,
             .synonyms = "sink attention-sink attention_sink streaming",
             .make = blank<Sinks>}};
constexpr RuleInfo kPrefixRow =
    describe<Prefix>(kPrefixNames, Reopening::kHarmless, Declares::kNothing);
constexpr RuleInfo kSinksRow =
    describe<Sinks>(kSinksNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const Prefix*) { return kPrefixRow; }
const RuleInfo& row(const Sinks*) { return kSinksRow; }

}  // namespace maskctl::step
