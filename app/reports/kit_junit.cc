// The results of the command kit as JUnit XML, a suite for each rule.
#include <fmt/format.h>

#include "app/reports/kit_report.h"
#include "app/reports/xml.h"

namespace maskctl::app {
namespace {

using kit::Outcome;

/// The element inside of a test case: a case that was skipped or refused is never a pass.
std::string element_of(const kit::CaseVerdict& verdict) {
  if (verdict.outcome == Outcome::kObeys) return "";
  const std::string text = xml_escaped(verdict.text);
  if (verdict.outcome == Outcome::kSkipped) return fmt::format("<skipped message=\"{}\"/>", text);
  return fmt::format("<failure type=\"{}\" message=\"{}\"/>", name(verdict.outcome), text);
}

}  // namespace

std::string kit_junit(const KitReport& report) {
  const Index skipped = report.count(Outcome::kSkipped);
  const Index all = static_cast<Index>(report.cases.size());
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites tests=\"{0}\" failures=\"{1}\" skipped=\"{2}\" errors=\"0\">\n"
      "  <testsuite name=\"{3}\" tests=\"{0}\" failures=\"{1}\" skipped=\"{2}\" errors=\"0\">\n",
      all, all - skipped - report.count(Outcome::kObeys), skipped, xml_escaped(report.library));
  for (const JudgedCase& one : report.cases) {
    const std::string inside = element_of(one.verdict);
    const std::string start =
        fmt::format("    <testcase classname=\"maskctl.kit.{}\" name=\"{}\"", one.rule->id, one.id);
    out += inside.empty() ? start + "/>\n" : start + ">" + inside + "</testcase>\n";
  }
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace maskctl::app
