// The output formats of golden: text, JUnit XML, GitHub annotations and JSON.
#include "app/reports/golden_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/reports/json_parts.h"
#include "app/reports/xml.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"

namespace maskctl::app {
namespace {

using Status = GoldenResult::Status;

std::string_view name_of(Status status) {
  constexpr std::string_view kNames[] = {"passed", "differs", "error"};
  return kNames[static_cast<std::size_t>(status)];
}

std::string indented(const std::string& lines) {
  std::string out;
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    out += "        " + lines.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return out;
}

/// Escapes text for a GitHub workflow command ("::error file=...::message").
std::string command_escaped(std::string_view text, bool property) {
  std::string out;
  for (const char c : printable(text, kUncut)) {
    const bool special = c == '%' || (property && (c == ':' || c == ','));
    if (special) {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

Index GoldenReport::count(Status status) const {
  return std::count_if(cases.begin(), cases.end(),
                       [status](const GoldenCase& one) { return one.result.status == status; });
}

int GoldenReport::exit_status() const {
  if (count(Status::kError) > 0) return 2;
  return count(Status::kDiffers) > 0 ? 1 : 0;
}

std::string expected_names(const GoldenEntry& entry) {
  constexpr std::string_view kNames[] = {"drawing", "sha256", "stats", "array", "holds", "verdict"};
  std::string out;
  for (const GoldenEntry::Expected& one : entry.expected) {
    if (!out.empty()) out += '+';
    out += kNames[static_cast<std::size_t>(one.expect)];
  }
  return out;
}

std::string golden_text(const GoldenReport& report) {
  std::string out;
  for (const GoldenCase& one : report.cases) {
    if (one.result.status == Status::kPassed) {
      out += fmt::format("ok      {}\n", printable(one.entry.name, kUncut));
      continue;
    }
    out += fmt::format("{:<8}{}: {}\n", name_of(one.result.status),
                       printable(one.entry.name, kUncut), printable(one.result.message, kUncut));
    out += indented(one.result.detail);
  }
  return out + fmt::format("{} passed, {}, {}\n", report.count(Status::kPassed),
                           counted(report.count(Status::kDiffers), "differs", "differ"),
                           counted(report.count(Status::kError), "error"));
}

std::string golden_junit(const GoldenReport& report) {
  std::string body;
  for (const GoldenCase& one : report.cases) {
    body += fmt::format("    <testcase classname=\"maskctl.golden\" name=\"{}\"",
                        xml_escaped(one.entry.name));
    if (one.result.status == Status::kPassed) {
      body += "/>\n";
      continue;
    }
    const char* tag = one.result.status == Status::kError ? "error" : "failure";
    body += fmt::format(">\n      <{0} message=\"{1}\">{2}</{0}>\n    </testcase>\n", tag,
                        xml_escaped(one.result.message), xml_escaped(one.result.detail, true));
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites tests=\"{0}\" failures=\"{1}\" errors=\"{2}\">\n"
      "  <testsuite name=\"{3}\" tests=\"{0}\" failures=\"{1}\" errors=\"{2}\">\n"
      "{4}  </testsuite>\n</testsuites>\n",
      report.cases.size(), report.count(Status::kDiffers), report.count(Status::kError),
      xml_escaped(report.manifest), body);
}

std::string golden_annotations(const GoldenReport& report) {
  std::string out;
  for (const GoldenCase& one : report.cases) {
    if (one.result.status == Status::kPassed) continue;
    out += fmt::format(
        "::error file={},line={},title={}::{}\n", command_escaped(report.manifest, true),
        one.entry.line, command_escaped("golden " + one.entry.name, true),
        command_escaped(one.result.cause.empty() ? one.result.message
                                                 : one.result.message + ": " + one.result.cause,
                        false));
  }
  return out;
}

Json golden_json(const GoldenReport& report) {
  Json out{{"schema", "maskctl.golden/1"}, {"manifest", report.manifest}};
  out["passed"] = report.count(Status::kPassed);
  out["differ"] = report.count(Status::kDiffers);
  out["errors"] = report.count(Status::kError);
  out["entries"] = Json::array();
  for (const GoldenCase& one : report.cases) {
    out["entries"].push_back({{"name", one.entry.name},
                              {"line", one.entry.line},
                              {"expect", expected_names(one.entry)},
                              {"status", name_of(one.result.status)},
                              {"message", one.result.message},
                              {"cause", one.result.cause},
                              {"detail", one.result.detail}});
  }
  return out;
}

namespace {

const char* status_of(const GoldenWritten& one) { return one.changed ? "updated" : "unchanged"; }

}  // namespace

std::string golden_update_text(const std::vector<GoldenWritten>& written) {
  std::string out;
  for (const GoldenWritten& one : written) {
    out += fmt::format("{:<10}{}\n", status_of(one), printable(one.entry.name, kUncut));
  }
  return out;
}

Json golden_update_json(const std::string& manifest, const std::vector<GoldenWritten>& written) {
  const auto updated = std::ranges::count(written, true, &GoldenWritten::changed);
  Json out{{"schema", "maskctl.golden-update/1"}, {"manifest", manifest}};
  out["updated"] = updated;
  out["unchanged"] = std::ssize(written) - updated;
  out["entries"] = Json::array();
  for (const GoldenWritten& one : written) {
    out["entries"].push_back({{"name", one.entry.name},
                              {"line", one.entry.line},
                              {"expect", expected_names(one.entry)},
                              {"status", status_of(one)}});
  }
  return out;
}

Json golden_list_json(const std::string& manifest, const std::vector<GoldenEntry>& entries) {
  Json out{{"schema", "maskctl.golden-list/1"}, {"manifest", manifest}};
  out["entries"] = Json::array();
  for (const GoldenEntry& entry : entries) {
    out["entries"].push_back({{"name", entry.name},
                              {"line", entry.line},
                              {"expect", expected_names(entry)},
                              {"source", entry.source},
                              {"as", entry.as},
                              {"transforms", entry.transforms}});
  }
  return out;
}

}  // namespace maskctl::app
