// Each finding, provoked by its example (tests/inspect/claims) and read back from all report
// formats, and docs/lint.md, which has the rows of all. MASKCTL_UPDATE_GOLDEN=1 writes its rows.
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "app/process.h"
#include "inspect/claims/claims.h"
#include "maskctl/io/array_io.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

const fs::path kRoot = MASKCTL_SOURCE_DIR;

/// Writes the example files of a finding into a folder of its own, and returns the output of
/// `explain`.
std::string explained(const LintRule& rule, const Sandbox& sandbox) {
  const std::string lines(rule.example), folder = std::string(rule.id) + "-example";
  const std::size_t last = lines.rfind('\n') + 1;
  constexpr std::string_view kCheck = "maskctl check ";
  REQUIRE(lines.substr(last).starts_with(kCheck));
  fs::create_directory(sandbox.work() / folder);
  const std::string within =
      "cd " + folder + " && PATH=/usr/bin:$PATH && ";  // a python3 with numpy
  if (last > 0) CHECK(sandbox.run(within + lines.substr(0, last)).status == 0);
  const bool nowhere = claim_of(rule.key).example().nowhere;
  return std::string(rule.id) + '\t' + std::string(name(rule.severity)) + '\t' + folder + '\t' +
         lines.substr(last + kCheck.size()) + "\t\t" + (nowhere ? "nowhere" : "somewhere") + '\n';
}

/// Writes the arrays of an example into a folder of its own, and returns the line that the script
/// reads.
std::string written(const LintRule& rule, const fs::path& work) {
  const Example example = claim_of(rule.key).example();
  const fs::path folder = work / rule.id;
  fs::create_directory(folder);
  for (const auto& [name, array] : example.arrays) {
    const bool in_container = name.find(':') != std::string::npos;
    write_array((folder / (in_container ? name : name + ".npy")).string(), array);
  }
  std::string line(rule.id);
  for (const std::string_view part :
       {name(rule.severity), rule.id, std::string_view(example.has),
        std::string_view(example.lacks),
        std::string_view(example.nowhere ? "nowhere" : "somewhere")}) {
    line += '\t' + std::string(part);
  }
  return line + '\n';
}

/// The row of docs/lint.md; explain has the rest of the finding.
std::string page_row(const LintRule& rule) {
  return fmt::format("| `{}` | {} | {} |\n", rule.id, name(rule.severity), rule.summary);
}

/// The page with this row in place of the one that it has, or else behind the row of `before`.
std::string with_row(std::string page, const LintRule& rule, const LintRule* before) {
  const auto place = [&page](const LintRule& of) {
    return page.find("| `" + std::string(of.id) + "` |");
  };
  const std::size_t old = place(rule);
  if (old != std::string::npos) {
    return page.replace(old, page.find('\n', old) + 1 - old, page_row(rule));
  }
  REQUIRE(before);
  return page.insert(page.find('\n', place(*before)) + 1, page_row(rule));
}

TEST_CASE("each finding has an example that provokes it, and is read back from each format") {
  const Sandbox sandbox;
  std::string examples;
  for (const LintRule& rule : lint_rules()) {
    examples += written(rule, sandbox.work()) + explained(rule, sandbox);
  }
  spit(sandbox.work() / "examples", examples);
  const Outcome outcome = sandbox.run(
      "/usr/bin/python3 '" + (kRoot / "tests/app/lint_findings.py").string() + "' examples");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
}

TEST_CASE("docs/lint.md lists every finding, in the words of its row", "[golden]") {
  const fs::path path = kRoot / "docs/lint.md";
  std::string page = slurp(path);
  const LintRule* before = nullptr;
  for (const LintRule& rule : lint_rules()) {
    INFO(rule.id);
    if (std::getenv("MASKCTL_UPDATE_GOLDEN") != nullptr) page = with_row(page, rule, before);
    before = &rule;
    CHECK(contains(page, "\n" + page_row(rule)));
  }
  if (std::getenv("MASKCTL_UPDATE_GOLDEN") != nullptr) spit(path, page);
  Index rows = 0;
  for (std::size_t at = 0; (at = page.find("\n| `", at)) != std::string::npos; ++at) ++rows;
  CHECK(rows == std::ssize(lint_rules()));
}

TEST_CASE("docs/lint.md lists the findings that check --write-fixed can fix") {
  const std::string page = slurp(kRoot / "docs/lint.md");
  const std::size_t from = page.find("## What --write-fixed does");
  REQUIRE(from != page.npos);
  const std::string list = page.substr(from, page.find("\n## ", from) - from);
  for (const LintRule& rule : lint_rules()) {
    INFO(rule.id);
    CHECK(contains(list, fmt::format("`{}`", rule.id)) == (rule.fixed != nullptr));
  }
}

}  // namespace
}  // namespace maskctl::test
