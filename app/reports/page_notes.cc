#include "app/reports/page_notes.h"

#include <utility>

#include "app/reports/check_report.h"
#include "maskctl/inspect/why/decided.h"
#include "maskctl/mask/steps/chain_text.h"

namespace maskctl::app {

PageNotes page_notes(const Mask& start, const Chain& chain, const CheckResult& found) {
  PageNotes out;
  DecidedCells decided = decided_cells(start, chain);
  for (std::size_t i = 0; i < chain.size(); ++i) {
    out.steps.push_back({to_text(Chain{chain[i]}), std::move(decided.by[i])});
  }
  out.findings.emplace();
  for (const Finding& finding : found.findings) {
    const Location& at = finding.where;
    out.findings->push_back({std::string(name(finding.rule->severity)),
                             std::string(finding.rule->id), finding.message, at.batch, at.head,
                             at.query, at.key});
  }
  for (const NotLookedAt part : found.not_looked_at) {
    out.not_looked_at.emplace_back(unseen(part).what);
  }
  return out;
}

}  // namespace maskctl::app
