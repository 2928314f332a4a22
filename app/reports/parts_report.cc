#include "app/reports/parts_report.h"

#include <fmt/format.h>

#include <vector>

#include "app/reports/json_parts.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/text.h"

namespace maskctl::app {
namespace {

using Kind = PartsFault::Kind;

constexpr std::size_t kShownFaults = 8, kShownParts = 3;

const char* name(Kind kind) {
  switch (kind) {
    case Kind::kLost:
      return "lost";
    case Kind::kTwice:
      return "twice";
    case Kind::kExtra:
      return "extra";
    case Kind::kNoToken:
      return "no-token";
  }
  return "";
}

/// "rank 0, step 1; rank 1, step 1".
std::string parts_named(std::span<const ComputedPart> parts, const PartsFault& fault) {
  std::vector<std::string> names;
  for (const std::size_t part : fault.parts) {
    if (names.size() == kShownParts) break;
    names.push_back(parts[part].name);
  }
  const std::size_t more = fault.parts.size() - names.size();
  return joined(names, "; ") + (more > 0 ? fmt::format("; {} more", more) : "");
}

std::string fault_text(std::span<const ComputedPart> parts, const PartsFault& fault) {
  const std::string where = parts_named(parts, fault);
  const std::string first = "; first at " + cell_text(fault.first);
  const std::string pairs = counted(fault.pairs, "pair");
  switch (fault.kind) {
    case Kind::kLost:
      return fault.parts.empty() ? fmt::format("{} in no part{}", pairs, first)
                                 : fmt::format("{} closed in {}{}", pairs, where, first);
    case Kind::kTwice:
      return fmt::format("{} too many in {}{}", pairs, where, first);
    case Kind::kExtra:
      return fmt::format("{} closed in the mask, open in {}{}", pairs, where, first);
    case Kind::kNoToken:
      return fmt::format("{} open in {}, where it holds no token; first at its {}",
                         counted(fault.pairs, "cell"), where, cell_text(fault.first));
  }
  return "";
}

std::string verdict_text(const PartsVerdict& verdict, bool once) {
  if (!verdict.ok(once)) return "the parts are not the mask";
  return once ? "the parts are the mask, each pair once" : "the parts are the mask";
}

}  // namespace

std::string parts_text(const Mask& mask, std::span<const ComputedPart> parts,
                       const PartsVerdict& verdict, bool once) {
  std::string out = fmt::format("{:<10}{}, {} open\n", "mask", shape_text(mask),
                                counted(verdict.declared, "cell"));
  out += fmt::format("{:<10}{}, {} open\n", "parts", grouped(std::ssize(parts)),
                     counted(verdict.computed, "cell"));
  out += fmt::format("{:<10}{} lost, {} too many{}, {} extra\n", "pairs", grouped(verdict.lost),
                     grouped(verdict.twice), once ? "" : " (shared)",
                     grouped(verdict.extra + verdict.no_token));
  std::size_t shown = 0, faults = 0;
  for (const PartsFault& fault : verdict.faults) {
    if (!once && fault.kind == Kind::kTwice) continue;
    if (++faults <= kShownFaults) {
      out += fmt::format("{:<10}{}\n", name(fault.kind), fault_text(parts, fault));
      ++shown;
    }
  }
  if (faults > shown) out += fmt::format("{:<10}{} more; --json lists all\n", "", faults - shown);
  return out + fmt::format("{:<10}{}\n", "verdict", verdict_text(verdict, once));
}

Json parts_json(const std::string& source, const Mask& mask, std::span<const ComputedPart> parts,
                const PartsVerdict& verdict, bool once) {
  Json names = Json::array(), faults = Json::array();
  for (const ComputedPart& part : parts) names.push_back(part.name);
  for (const PartsFault& fault : verdict.faults) {
    faults.push_back({{"kind", name(fault.kind)},
                      {"parts", fault.parts},
                      {"pairs", fault.pairs},
                      {"first", json_of(fault.first)},
                      {"text", fault_text(parts, fault)}});
  }
  return {{"schema", "maskctl.parts/1"},
          {"source", source},
          {"shape", extents(mask)},
          {"parts", names},
          {"open", verdict.declared},
          {"computed", verdict.computed},
          {"lost", verdict.lost},
          {"twice", verdict.twice},
          {"extra", verdict.extra},
          {"no_token", verdict.no_token},
          {"once", once},
          {"ok", verdict.ok(once)},
          {"text", verdict_text(verdict, once)},
          {"faults", faults}};
}

}  // namespace maskctl::app
