// The results of the command kit as JUnit XML, a test case for each of its cases.
#include <fmt/format.h>

#include "app/reports/kit_report.h"
#include "app/reports/xml.h"

namespace maskctl::app {
namespace {

using kit::Outcome;

/// The element inside of a test case: a failure is a wrong result, an error a result that there is
/// not. What a baseline allows is skipped, and so is no pass either.
enum class Element : std::uint8_t { kNone, kFailure, kError, kSkipped };

Element element_of(const KitReport& report, const JudgedCase& one) {
  if (report.change(one) != kit::Change::kWorse) {
    return one.verdict.outcome == Outcome::kObeys ? Element::kNone : Element::kSkipped;
  }
  switch (one.verdict.outcome) {
    case Outcome::kRefuses:
    case Outcome::kFails:
    case Outcome::kTimedOut:
    case Outcome::kSkipped:
      return Element::kError;
    default:
      return Element::kFailure;
  }
}

/// What a case that obeys prints: what is better than in the baseline, and in which precision.
std::string printed(const KitReport& report, const JudgedCase& one) {
  std::string out = one.verdict.note;
  if (const auto before = report.before(one); report.change(one) == kit::Change::kBetter) {
    const std::string_view was =
        before->outcome == Outcome::kObeys ? std::string_view(before->note) : name(before->outcome);
    out += fmt::format("{}better: before: {}", out.empty() ? "" : "; ", was);
  }
  return out.empty() ? "" : fmt::format("<system-out>{}</system-out>", xml_escaped(out));
}

std::string text_of(const KitReport& report, const JudgedCase& one, Element element) {
  const bool obeys = one.verdict.outcome == Outcome::kObeys;
  const std::string text = xml_escaped(obeys ? one.verdict.note : one.verdict.text);
  const std::string_view outcome = obeys ? "lower precision" : name(one.verdict.outcome);
  switch (element) {
    case Element::kNone:
      return printed(report, one);
    case Element::kFailure:
      return fmt::format("<failure type=\"{}\" message=\"{}\"/>", outcome, text);
    case Element::kError:
      return fmt::format("<error type=\"{}\" message=\"{}\"/>", outcome, text);
    case Element::kSkipped:
      break;
  }
  return fmt::format("<skipped message=\"{}: {}: {}\"/>", name(report.change(one)), outcome, text);
}

/// The baseline, and what is to be said of it.
std::string properties_of(const KitReport& report) {
  if (!report.baseline) return "";
  const auto property = [](std::string_view name, const std::string& value) {
    return fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", name, xml_escaped(value));
  };
  std::string out = property("baseline", report.baseline->file);
  for (const std::string& note : report.baseline->notes) out += property("baseline.note", note);
  return "    <properties>\n" + out + "    </properties>\n";
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
      "  <testsuite name=\"{1}\" {0}>\n{2}{3}  </testsuite>\n</testsuites>\n",
      all, xml_escaped(report.library), properties_of(report), inside);
}

}  // namespace maskctl::app
