// The results of the command kit as JUnit XML, a test case for each of its cases.
#include <fmt/format.h>

#include "app/reports/kit_report.h"
#include "app/reports/xml.h"

namespace maskctl::app {
namespace {

using kit::Outcome;

/// The element inside of a test case: a failure is a wrong result, an error a result that there is
/// not. What is allowed by a baseline is skipped, and so is no pass either.
enum class Element : std::uint8_t { kNone, kFailure, kError, kSkipped };

Element element_of(const KitReport& report, const JudgedCase& one) {
  switch (one.verdict.outcome) {
    case Outcome::kObeys:
      return Element::kNone;
    case Outcome::kSkipped:
      if (!report.baseline) return Element::kSkipped;
      break;
    default:
      break;
  }
  if (report.change(one) != kit::Change::kWorse) return Element::kSkipped;
  const bool none = one.verdict.outcome == Outcome::kRefuses ||
                    one.verdict.outcome == Outcome::kTimedOut ||
                    one.verdict.outcome == Outcome::kSkipped;
  return none ? Element::kError : Element::kFailure;
}

std::string text_of(const KitReport& report, const JudgedCase& one, Element element) {
  const std::string text = xml_escaped(one.verdict.text);
  const std::string_view outcome = name(one.verdict.outcome);
  switch (element) {
    case Element::kNone:
      return "";
    case Element::kFailure:
      return fmt::format("<failure type=\"{}\" message=\"{}\"/>", outcome, text);
    case Element::kError:
      return fmt::format("<error type=\"{}\" message=\"{}\"/>", outcome, text);
    case Element::kSkipped:
      break;
  }
  if (!report.baseline) return fmt::format("<skipped message=\"{}\"/>", text);
  return fmt::format("<skipped message=\"{}: {}: {}\"/>", name(report.change(one)), outcome, text);
}

}  // namespace

std::string kit_junit(const KitReport& report) {
  Index counts[4] = {};
  std::string inside;
  for (const JudgedCase& one : report.cases) {
    const Element element = element_of(report, one);
    ++counts[static_cast<std::size_t>(element)];
    const std::string text = text_of(report, one, element);
    const std::string start =
        fmt::format("    <testcase classname=\"maskctl.kit.{}\" name=\"{}\" time=\"{:.3f}\"",
                    one.rule->id, one.id, one.seconds);
    inside += text.empty() ? start + "/>\n" : start + ">" + text + "</testcase>\n";
  }
  const std::string all =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\"",
                  report.cases.size(), counts[1], counts[2], counts[3], report.seconds);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n"
      "  <testsuite name=\"{1}\" {0}>\n{2}  </testsuite>\n</testsuites>\n",
      all, xml_escaped(report.library), inside);
}

}  // namespace maskctl::app
