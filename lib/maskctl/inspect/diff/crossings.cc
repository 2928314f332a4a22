#include "maskctl/inspect/diff/crossings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "maskctl/inspect/diff/change.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl {
namespace {

using Crossed = std::optional<std::pair<Index, Index>>;

Crossed crossed(const Chain& chain, const Cell& cell) {
  for (const Step& step : chain) {
    // Without steps inside, documents with two lengths each are rectangles, which nobody packed.
    const Chain* inside = chain_of(step);
    if (inside && inside->empty()) continue;
    if (auto documents = documents_of(step, cell)) return documents;
  }
  return std::nullopt;
}

}  // namespace

std::string crossing_words(const Cell& cell, std::span<const Cell> listed,
                           std::span<const Recognised* const> rules) {
  const auto here = [&](const Cell& other) {
    return other.batch == cell.batch && other.head == cell.head;
  };
  Crossed told;
  for (const Recognised* rule : rules) {
    // A rule that leaves other cells, too, has documents by chance.
    if (rule->residue.cells > std::ranges::count_if(listed, here)) continue;
    const bool tells = std::ranges::any_of(
        listed, [&](const Cell& other) { return here(other) && crossed(rule->chain, other); });
    if (!tells && rule->residue.cells == 0) return "";  // a rule without documents
    if (!tells || told) continue;
    told = crossed(rule->chain, cell);
    if (!told) return "";
  }
  return told ? fmt::format(" (document {} sees document {})", told->first, told->second) : "";
}

std::string crossing_words(const Cell& cell, const Documents& declared) {
  const std::int32_t q = ids_of_batch(declared.q, cell.batch)[as_size(cell.query)],
                     k = ids_of_batch(declared.kv, cell.batch)[as_size(cell.key)];
  return document_cell(q, k, declared.pad_id) == DocumentCell::kLeak
             ? fmt::format(" (document {} sees document {})", q, k)
             : "";
}

}  // namespace maskctl
