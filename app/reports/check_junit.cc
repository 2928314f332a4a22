// The JUnit XML form of check, for build servers.
#include <fmt/format.h>

#include "app/reports/check_report.h"
#include "app/reports/remedies.h"
#include "app/reports/xml.h"

namespace maskctl::app {
namespace {

struct Case {
  std::string name;
  std::string type;     // type of the failure; empty if the case passed
  std::string message;  // the failure, or a remark if the case passed
  std::string body;
};

std::vector<Case> cases_of(const CheckReport& report) {
  std::vector<Case> out;
  for (const ExpectationResult& expected : report.expected) {
    if (expected.holds) {
      out.push_back({expected.text, "", expected.detail, ""});
    } else {
      out.push_back({expected.text, "violated", counter_example(expected), ""});
    }
  }
  for (const Finding& finding : report.found.findings) {
    const LintRule& rule = *finding.rule;
    const std::string where = to_text(finding.where);
    const std::string at = where.empty() ? "" : fmt::format(" at {}", where);
    const bool note = rule.severity == Severity::kNote;
    out.push_back({std::string(rule.id), note ? "" : std::string(name(rule.severity)),
                   finding.message + at, fmt::format("why: {} fix: {}", rule.why, fix_of(rule))});
  }
  if (report.linted && report.found.findings.empty()) out.push_back({"lint", "", "", ""});
  return out;
}

std::string xml_of(const Case& one) {
  std::string out =
      fmt::format("    <testcase classname=\"maskctl.check\" name=\"{}\"", xml_escaped(one.name));
  if (one.type.empty()) {
    if (one.message.empty()) return out + "/>\n";
    return out + fmt::format(">\n      <system-out>{}</system-out>\n    </testcase>\n",
                             xml_escaped(one.message));
  }
  return out +
         fmt::format(">\n      <failure type=\"{}\" message=\"{}\">{}</failure>\n    </testcase>\n",
                     one.type, xml_escaped(one.message), xml_escaped(one.body));
}

struct Suite {
  std::string xml;
  std::size_t tests = 0, failures = 0, errors = 0;
};

/// A SOURCE that could not be read.
Suite unread_suite(const CheckReport& report) {
  return {fmt::format("  <testsuite name=\"{0}\" tests=\"1\" failures=\"0\" errors=\"1\">\n"
                      "    <testcase classname=\"maskctl.check\" name=\"read\">\n"
                      "      <error message=\"{1}\"/>\n    </testcase>\n  </testsuite>\n",
                      xml_escaped(report.source), xml_escaped(report.unread)),
          1, 0, 1};
}

Suite suite_of(const CheckReport& report) {
  if (!report.unread.empty()) return unread_suite(report);
  Suite out;
  std::string body;
  for (const Case& one : cases_of(report)) {
    body += xml_of(one);
    ++out.tests;
    out.failures += one.type.empty() ? 0 : 1;
  }
  out.xml = fmt::format(
      "  <testsuite name=\"{0}\" tests=\"{1}\" failures=\"{2}\" errors=\"0\">\n{3}  "
      "</testsuite>\n",
      xml_escaped(report.source), out.tests, out.failures, body);
  return out;
}

}  // namespace

std::string check_junit(std::span<const CheckReport> reports) {
  Suite all;
  for (const CheckReport& report : reports) {
    Suite suite = suite_of(report);
    all.xml += suite.xml;
    all.tests += suite.tests;
    all.failures += suite.failures;
    all.errors += suite.errors;
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites tests=\"{}\" failures=\"{}\" errors=\"{}\">\n{}</testsuites>\n",
      all.tests, all.failures, all.errors, all.xml);
}

}  // namespace maskctl::app
