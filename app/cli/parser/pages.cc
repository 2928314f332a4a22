#include "app/cli/parser/pages.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/commands/command.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/help.h"
#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/pipeline/steps/generate.h"
#include "maskctl/pipeline/steps/step_infos.h"

namespace maskctl::app {
namespace {

constexpr std::string_view kPipeline = "pipeline";

/// Escapes text for roff: hyphens stay ASCII, "." or "'" at the start of a line is not a request,
/// and lines may break after "|".
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool begins = out.empty() || out.back() == '\n';
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '|') {
      out += "|\\:";
    } else {
      out += c;
    }
  }
  return out;
}

std::string bold(std::string_view text) { return fmt::format("\\fB{}\\fR", roff(text)); }

std::string section(std::string_view heading) { return fmt::format(".SH {}\n", roff(heading)); }

/// A term and, indented below it, its meaning.
std::string item(std::string_view term, std::string_view meaning) {
  return fmt::format(".TP\n{}\n{}\n", bold(term), roff(meaning));
}

/// Returns roff text that prints these lines as they are, without filling or joining them.
std::string verbatim(std::string_view lines) {
  return fmt::format(".PP\n.nf\n{}{}.fi\n", roff(lines), lines.ends_with('\n') ? "" : "\n");
}

std::string upper(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

/// A section with entries; empty if there are none.
std::string items(std::string_view heading, std::span<const HelpEntry> entries) {
  if (entries.empty()) return "";
  std::string out = section(upper(heading));
  for (const HelpEntry& entry : entries) out += item(entry.label, entry.words);
  return out;
}

std::string page_head(std::string_view name, std::string_view number, std::string_view summary) {
  return fmt::format(".TH {} {} \"\" \"maskctl {}\" \"maskctl\"\n.SH NAME\n{} \\- {}\n",
                     roff(upper(name)), number, MASKCTL_VERSION, roff(name), roff(summary));
}

std::string see_also(const std::vector<std::string>& pages) {
  std::string out = section("SEE ALSO");
  for (const std::string& page : pages) {
    const std::string_view name = std::string_view(page).substr(0, page.rfind('.'));
    const char* end = &page == &pages.back() ? "" : ",";
    out += fmt::format(".BR {} ({}){}\n", roff(name), page.back(), end);
  }
  return out;
}

std::string command_items() {
  return by_group([](std::string_view group) { return fmt::format(".SS {}\n", roff(group)); },
                  [](const Command& row) { return item(row.name, row.summary); });
}

std::string program_page() {
  std::string out = page_head("maskctl", "1", kTitle) + section("SYNOPSIS") +
                    ".B maskctl\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n" + section("EXAMPLES") +
                    verbatim(kExamples) + section("COMMANDS") + command_items() +
                    section("SOURCES AND PIPELINES") + verbatim(kConcepts);
  for (const std::string_view heading : headings(common_options())) {
    out += items(heading.empty() ? kEveryCommand : heading, shared_entries(heading));
  }
  out += section("EXIT STATUS") + roff(exit_text(kAnyNegative)) + "\n";
  std::vector<std::string> others = man_pages();
  others.erase(others.begin());
  return out + see_also(others);
}

std::string command_page(const Command& command) {
  const OptionList own = options_of(command);
  std::string out =
      page_head(fmt::format("maskctl-{}", command.name), "1", command.summary) +
      section("SYNOPSIS") +
      fmt::format("{} {} [\\fIOPTIONS\\fR]\n", bold(fmt::format("maskctl {}", command.name)),
                  roff(command.operands)) +
      section("EXAMPLES") + verbatim(command.examples);
  for (const std::string_view heading : headings(own)) {
    out += items(heading.empty() ? "OPTIONS" : heading, own_entries(own, heading));
  }
  return out + section("EXIT STATUS") + roff(exit_text(command.negative)) + "\n" +
         see_also({"maskctl.1", "maskctl-pipeline.7"});
}

std::string step_page(const StepInfo& info) {
  std::string out =
      fmt::format(".SS {}\n{}\n", roff(info.name), roff(info.meaning)) + verbatim(usage(info));
  for (const Field& argument : info.args) {
    const std::string fallback =
        argument.fallback.empty() ? "" : fmt::format(" (default {})", argument.fallback);
    out += item(argument.name, fmt::format("{}{}", argument.help, fallback));
  }
  return out +
         fmt::format(".PP\nCells: {}\n.PP\nExample: {}\n", roff(info.formula), bold(info.example));
}

std::string pipeline_page() {
  std::string out = page_head("maskctl-pipeline", "7", "the steps that maskctl applies to masks") +
                    section("DESCRIPTION") + verbatim(kConcepts) + section("STEPS");
  for (const StepInfo& info : step_infos()) out += step_page(info);
  out += section("GENERATED MASKS") +
         roff("gen:STEP makes a mask from any of these steps and a size, and from:") + "\n";
  for (const StepInfo& info : generators()) out += step_page(info);
  return out + see_also({"maskctl.1", "maskctl-gen.1", "maskctl-ops.1"});
}

/// Escapes text for a table cell in Markdown.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

/// A table of entries, below its heading if that is not empty; empty if there are no entries.
std::string table_below(std::string_view heading, std::span<const HelpEntry> entries) {
  if (entries.empty()) return "";
  std::string out = heading.empty() ? "\n" : fmt::format("\n{}:\n\n", heading);
  out += "| option | meaning |\n| --- | --- |\n";
  for (const HelpEntry& entry : entries) {
    out += fmt::format("| `{}` | {} |\n", cell(entry.label), cell(entry.words));
  }
  return out;
}

std::string command_markdown(const Command& command) {
  const OptionList own = options_of(command);
  std::string out = fmt::format("\n### {}\n\n`maskctl {} {}`: {}.\n", command.name, command.name,
                                command.operands, command.summary);
  for (const std::string_view heading : headings(own)) {
    out += table_below(heading, own_entries(own, heading));
  }
  return out + fmt::format("\nExit status: {}\n", exit_text(command.negative));
}

}  // namespace

std::vector<std::string> man_pages() {
  std::vector<std::string> out = {"maskctl.1"};
  for (const Command* command : commands())
    out.push_back(fmt::format("maskctl-{}.1", command->name));
  out.push_back(fmt::format("maskctl-{}.7", kPipeline));
  return out;
}

std::string man_page(std::string_view name) {
  if (name.empty()) return program_page();
  if (name == kPipeline) return pipeline_page();
  if (const Command* command = find_command(name)) return command_page(*command);
  throw Error(Errc::kInvalidArgument, fmt::format("no manual page of '{}'", name));
}

std::string options_markdown() {
  std::string out =
      "# Options\n\nWhat `maskctl COMMAND --help` prints, for every command. "
      "docs/commands.md says what they mean.\n";
  out += by_group([](std::string_view group) { return fmt::format("\n## {}\n", group); },
                  command_markdown);
  out += "\n## Every command\n\nWhat `--help-all` adds.\n";
  for (const std::string_view heading : headings(common_options())) {
    out += table_below(heading, shared_entries(heading));
  }
  return out;
}

}  // namespace maskctl::app
