// maskctl kit: asks a library what its masks mean, case by case.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "app/cli/commands/attention/call.h"
#include "app/cli/commands/attention/kit_files.h"
#include "app/cli/commands/attention/outside_program.h"
#include "app/cli/commands/attention/scratch_folder.h"
#include "app/cli/commands/command.h"
#include "app/cli/parser/values.h"
#include "app/reports/kit_report.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/stopwatch.h"
#include "maskctl/base/work_scope.h"

namespace maskctl::app {
namespace {

using kit::CaseVerdict;
using kit::MadeCase;
using kit::Outcome;

struct KitOptions {
  std::string action;  // "list", "make", "judge" or "run"
  std::string folder;
  DType dtype = DType::kFloat32;
  std::vector<std::string> rules, without;
  std::string program, library;
  attention::Backend backend = attention::Backend::kCpu;
  enum class Format : std::uint8_t { kText, kJson, kJunit } format = Format::kText;
  bool json = false;
};

constexpr std::string_view kKitActions[] = {"list", "make", "judge", "run"};
constexpr std::string_view kKitDtypes[] = {"f32", "f16", "bf16"};
constexpr DType kKitDtypeOf[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};
constexpr std::string_view kKitFormats[] = {"text", "json", "junit"};

void declare(OptionList& list, KitOptions& options) {
  list.operand("ACTION", kKitActions, options.action);
  list.operand("FOLDER", options.folder, false);
  list.choice("--dtype", kKitDtypes, "the precision of the arrays (f32)",
              [&options](std::size_t i) { options.dtype = kKitDtypeOf[i]; });
  list.repeated("--rule", "RULE",
                "only this rule, or all whose ids begin with it and a dot; may be repeated",
                options.rules);
  list.repeated("--without", "RULE", "not this rule, or these; may be repeated", options.without);
  list.text("--judge", "COMMAND",
            "run: a command; {case} in it is the .npz of a case, {json} what is asked, {out} the "
            ".npz that it writes",
            options.program);
  declare_backend(list, "--backend", "run: one of our own backends (cpu)", options.backend);
  list.text("--library", "NAME", "what reports call the library", options.library);
  list.choice("--format", kKitFormats, "how to print the verdicts (text); json: maskctl.kit/1",
              [&options](std::size_t i) {
                options.format = static_cast<KitOptions::Format>(i);
                if (options.format == KitOptions::Format::kJson) options.json = true;
              });
  list.flag("--json", "the same as --format json", options.json);
}

bool is_of(std::string_view id, std::string_view chosen) {
  return id == chosen || (id.starts_with(chosen) && id.substr(chosen.size()).starts_with('.'));
}

bool is_of_any(std::string_view id, const std::vector<std::string>& chosen) {
  return std::ranges::any_of(chosen, [id](const std::string& one) { return is_of(id, one); });
}

/// Calls `f` for each chosen rule. Throws for a choice that no rule has.
void for_rules(const KitOptions& options, const std::function<void(const kit::Rule&)>& f) {
  for (const auto* chosen : {&options.rules, &options.without}) {
    for (const std::string& one : *chosen) {
      const auto has = [&one](const kit::Section& section) {
        return std::ranges::any_of(section.rules,
                                   [&one](const kit::Rule& rule) { return is_of(rule.id, one); });
      };
      if (std::ranges::any_of(kit::sections(), has)) continue;
      throw Error(Errc::kInvalidArgument,
                  fmt::format("no rule '{}'; `maskctl kit list` has all", printable(one)));
    }
  }
  for (const kit::Section& section : kit::sections()) {
    for (const kit::Rule& rule : section.rules) {
      const bool wanted = options.rules.empty() || is_of_any(rule.id, options.rules);
      if (wanted && !is_of_any(rule.id, options.without)) f(rule);
    }
  }
}

void for_cases(const KitOptions& options, const std::function<void(const MadeCase&)>& f) {
  for_rules(options, [&](const kit::Rule& rule) {
    for (std::size_t i = 0; i < rule.cases.size(); ++i) {
      throw_if_stopped();
      f(kit::make_case(rule, i, options.dtype));
    }
  });
}

std::string in_folder(const KitOptions& options, const std::string& name) {
  return (std::filesystem::path(options.folder) / name).string();
}

Answer list_rules(const KitOptions& options) {
  Json manifest = kit_manifest_json(options.dtype);
  manifest["cases"] = Json::array();
  for_cases(options,
            [&](const MadeCase& made) { manifest["cases"].push_back(kit_case_json(made)); });
  return answer_in(
      options.json, [] { return kit_rules_text(); }, [=] { return manifest; });
}

Answer make(const KitOptions& options, Session& session) {
  if (options.folder.empty()) {
    throw Error(Errc::kInvalidArgument, "kit make: no FOLDER to write the cases to");
  }
  std::error_code failed;
  std::filesystem::create_directories(options.folder, failed);
  if (failed) {
    throw Error(Errc::kIo, fmt::format("{}: {}; expected a folder for the cases",
                                       printable(options.folder), failed.message()));
  }
  Json manifest = kit_manifest_json(options.dtype);
  manifest["cases"] = Json::array();
  Index made_cases = 0;
  for_cases(options, [&](const MadeCase& made) {
    const std::string file = made.id + ".npz";
    write_case(in_folder(options, file), made, true);
    Json one = kit_case_json(made);
    one["file"] = file;
    manifest["cases"].push_back(std::move(one));
    ++made_cases;
  });
  write_json(in_folder(options, "manifest.json"), manifest);
  session.note(
      fmt::format("{} cases in {}; give the results of each as NAME.npz, or its refusal as "
                  "NAME.txt, to: maskctl kit judge FOLDER",
                  made_cases, options.folder));
  return {};
}

std::string text_in(const std::string& path) {
  constexpr std::streamsize kMost = 2000;
  std::ifstream in(path, std::ios::binary);
  std::string text(kMost, '\0');
  in.read(text.data(), kMost);
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text.substr(0, text.find_last_not_of(" \n") + 1);
}

/// The verdict on results in a file. What cannot be read is wrong.
CaseVerdict judge_file(const MadeCase& made, const std::string& path, const Session& session) {
  attention::NamedResults given;
  try {
    given = read_results(path, {session.settings().max_bytes, session.settings().strict});
  } catch (const Error& error) {
    return {Outcome::kWrong, error.what()};
  }
  return kit::judge(made, std::move(given));
}

CaseVerdict verdict_in_folder(const KitOptions& options, const MadeCase& made,
                              const Session& session) {
  const std::string results = in_folder(options, made.id + ".npz");
  const std::string refusal = in_folder(options, made.id + ".txt");
  std::error_code ignored;
  if (std::filesystem::exists(results, ignored)) return judge_file(made, results, session);
  if (std::filesystem::exists(refusal, ignored)) return {Outcome::kRefuses, text_in(refusal)};
  return {Outcome::kSkipped, "no result"};
}

/// Asks a command: files to files.
class Program {
 public:
  Program(const KitOptions& options, const Session& session)
      : command_(options.program), session_(session) {
    for (const std::string_view place : {"{case}", "{out}"}) {
      if (command_.find(place) != command_.npos) continue;
      throw Error(Errc::kInvalidArgument,
                  fmt::format("--judge '{}': where is {}? As in --judge 'mine {{case}} {{out}}'",
                              printable(command_), place));
    }
  }

  CaseVerdict ask(const MadeCase& made) const {
    const std::string in = scratch_.file("case.npz"), json = scratch_.file("case.json"),
                      out = scratch_.file("out.npz");
    std::error_code ignored;
    std::filesystem::remove(out, ignored);
    write_case(in, made, false);
    write_json(json, kit_case_json(made));
    const std::string command =
        with_path(with_path(with_path(command_, "{case}", in), "{json}", json), "{out}", out);
    const ProgramEnd end = run_program(command, scratch_.file("log"));
    if (end.status != 0) return {Outcome::kRefuses, end.text};
    return judge_file(made, out, session_);
  }

 private:
  std::string command_;
  const Session& session_;
  ScratchFolder scratch_;
};

Answer report_of(const KitOptions& options, std::string library, Session& session,
                 const std::function<CaseVerdict(const MadeCase&)>& ask) {
  KitReport report;
  report.library = options.library.empty() ? std::move(library) : options.library;
  report.dtype = options.dtype;
  const Stopwatch watch;
  double all = 0;
  for_rules(options,
            [&all](const kit::Rule& rule) { all += static_cast<double>(rule.cases.size()); });
  const Progress progress = session.progress("kit");
  for_cases(options, [&](const MadeCase& made) {
    report.cases.push_back({made.id, made.rule, made.source, ask(made)});
    if (progress) progress(static_cast<double>(report.cases.size()) / all);
  });
  report.seconds = watch.seconds();
  const int status = report.status();
  const auto json = [report] { return kit_json(report); };
  if (options.format == KitOptions::Format::kJunit) return {kit_junit(report), status, json};
  return answer_in(
      options.json, [&] { return kit_text(report); }, json, status);
}

Answer judge(const KitOptions& options, Session& session) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(options.folder, ignored)) {
    throw Error(Errc::kIo,
                fmt::format("kit judge: '{}' is no folder; expected one with the results "
                            "of each case, as `maskctl kit make` names it",
                            printable(options.folder)));
  }
  return report_of(options, options.folder, session,
                   [&](const MadeCase& made) { return verdict_in_folder(options, made, session); });
}

Answer run_library(const KitOptions& options, Session& session) {
  if (!options.program.empty()) {
    const Program program(options, session);
    return report_of(options, options.program, session,
                     [&program](const MadeCase& made) { return program.ask(made); });
  }
  require_backend(options.backend, "--backend");
  return report_of(options, fmt::format("maskctl {}", name(options.backend)), session,
                   [&options](const MadeCase& made) {
                     return kit::judge(made, kit::run_backend(made, options.backend));
                   });
}

Answer run(const KitOptions& options, Session& session) {
  switch (parse_choice(options.action, "kit", kKitActions)) {
    case 0:
      return list_rules(options);
    case 1:
      return make(options, session);
    case 2:
      return judge(options, session);
    default:
      return run_library(options, session);
  }
}

}  // namespace

extern const Command kKit = command<KitOptions, declare, run>({
    .name = "kit",
    .group = kJudge,
    .operands = "list|make|judge|run [FOLDER]",
    .summary = "what masks mean, asked of any library case by case",
    .examples = "  maskctl kit list\n"
                "  maskctl kit run --backend cpu\n"
                "  maskctl kit run --judge './mine {case} {out}' --rule causal --format junit\n"
                "  maskctl kit make cases/ --dtype bf16\n"
                "  maskctl kit judge results/ --dtype bf16 --without gradient\n",
    .negative = "a case is not obeyed, or was skipped",
});

}  // namespace maskctl::app
