// maskctl kit: asks a library what its masks mean, case by case.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "app/cli/commands/attention/call.h"
#include "app/cli/commands/attention/kit_baseline.h"
#include "app/cli/commands/attention/kit_files.h"
#include "app/cli/commands/attention/kit_options.h"
#include "app/cli/commands/attention/outside_program.h"
#include "app/cli/commands/attention/scratch_folder.h"
#include "app/cli/commands/command.h"
#include "app/cli/parser/values.h"
#include "app/reports/kit_report.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/stopwatch.h"
#include "maskctl/base/text.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/kit/judge.h"

namespace maskctl::app {
namespace {

using Format = KitOptions::Format;
using kit::CaseVerdict;
using kit::MadeCase;
using kit::Outcome;

void for_cases(const KitOptions& options, const std::function<void(const MadeCase&)>& f) {
  for (const KitChoice& one : chosen_cases(options)) {
    throw_if_stopped();
    f(kit::make_case(*one.rule, one.number, options.dtype));
  }
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
      options.json || options.format == Format::kJson,
      [&options] { return kit_rules_text(chosen_cases(options)); }, [=] { return manifest; });
}

constexpr const char* kManifest = "manifest.json";

/// Throws Error(kIo) without --force if a file that make() would write exists, before any is
/// written, and what chosen_cases() throws.
void check_new(const KitOptions& options) {
  std::vector<std::string> files = {kManifest};
  for (const KitChoice& one : chosen_cases(options)) files.push_back(one.id() + ".npz");
  for (const std::string& file : files) {
    const std::string path = in_folder(options, file);
    std::error_code ignored;
    if (options.force || !std::filesystem::exists(path, ignored)) continue;
    throw Error(Errc::kIo, printable(path) + " exists", {{Remedy::kOverwrite}});
  }
}

Answer make(const KitOptions& options, Session& session) {
  if (options.folder.empty()) {
    throw Error(Errc::kInvalidArgument, "kit make: no FOLDER to write the cases to");
  }
  check_new(options);
  std::error_code failed, ignored;
  std::filesystem::create_directory(options.folder, failed);
  if (!std::filesystem::is_directory(options.folder, ignored)) {
    throw Error(
        Errc::kIo,
        fmt::format(
            "cannot make the folder {}: {}", printable(options.folder),
            (failed ? failed : std::make_error_code(std::errc::not_a_directory)).message()));
  }
  Json manifest = kit_manifest_json(options.dtype);
  manifest["cases"] = Json::array();
  Index made_cases = 0;
  for_cases(options, [&](const MadeCase& made) {
    const std::string file = made.id + ".npz";
    write_case(in_folder(options, file), made, true, options.force);
    Json one = kit_case_json(made);
    one["file"] = file;
    manifest["cases"].push_back(std::move(one));
    ++made_cases;
  });
  write_json(in_folder(options, kManifest), manifest, options.force);
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

/// A verdict, and the seconds that the library took, as far as they are not measured here.
struct Asked {
  CaseVerdict verdict;
  double seconds = 0;
};

/// The verdict on results in a file. A library that wrote none that can be read has failed.
Asked judge_file(const MadeCase& made, const std::string& path, const Session& session) {
  const std::filesystem::path file = path;
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    return {{Outcome::kFails, fmt::format("wrote no {}", file.filename().string())}};
  }
  GivenResults given;
  try {
    given = read_results(path, {session.settings().max_bytes, session.settings().strict});
  } catch (const Error& error) {
    std::string text = error.what();  // names the file by its path, which may be that of a scratch
    if (const std::size_t at = text.find(path); at != text.npos) {
      text.replace(at, path.size(), file.filename().string());
    }
    return {{Outcome::kFails, text}};
  }
  return {kit::judge(made, std::move(given.results)), given.seconds};
}

/// How the files of a case end that has no results, and what they say.
constexpr std::pair<std::string_view, Outcome> kEnds[] = {
    {".txt", Outcome::kRefuses}, {".failed", Outcome::kFails}, {".timeout", Outcome::kTimedOut}};
constexpr std::string_view kAllEnds[] = {".npz", ".txt", ".failed", ".timeout"};

/// The only file of a case in the folder; nothing if there is none. Throws Error(kInvalidArgument)
/// for two, which say different things.
std::optional<std::string> answer_file(const KitOptions& options, const std::string& id) {
  std::optional<std::string> out;
  for (const std::string_view end : kAllEnds) {
    const std::string file = id + std::string(end);
    std::error_code ignored;
    if (!std::filesystem::exists(in_folder(options, file), ignored)) continue;
    if (out) {
      throw Error(Errc::kInvalidArgument,
                  fmt::format("kit judge: {} has {} and {}; expected one file of a case, remove "
                              "the old one",
                              printable(options.folder), *out, file));
    }
    out = file;
  }
  return out;
}

Asked verdict_in_folder(const KitOptions& options, const MadeCase& made, const Session& session) {
  const std::optional<std::string> file = answer_file(options, made.id);
  if (!file) return {{Outcome::kSkipped, "no result"}};
  const std::string path = in_folder(options, *file);
  for (const auto& [end, outcome] : kEnds) {
    if (file->ends_with(end)) return {{outcome, text_in(path)}};
  }
  return judge_file(made, path, session);
}

/// Says which results in a folder are of no case.
void note_unknown(const KitOptions& options, Session& session) {
  std::set<std::string> unknown;
  std::error_code failed;
  for (const auto& file : std::filesystem::directory_iterator(options.folder, failed)) {
    if (file.path().extension() != ".npz") continue;
    if (!kit::is_case_id(file.path().stem().string()))
      unknown.insert(file.path().filename().string());
  }
  if (unknown.empty()) return;
  session.note(fmt::format("{} not read, first {}: no case has this name",
                           counted(std::ssize(unknown), "file is", "files are"),
                           printable(*unknown.begin())));
}

/// Asks a command: files to files.
class Program {
 public:
  Program(const KitOptions& options, const Session& session)
      : command_(options.program),
        limit_(options.seconds.value_or(kKitSeconds)),
        session_(session) {
    for (const std::string_view place : {"{case}", "{out}"}) {
      if (command_.find(place) != command_.npos) continue;
      throw Error(Errc::kInvalidArgument,
                  fmt::format("--judge '{}': where is {}? As in --judge 'mine {{case}} {{out}}'",
                              printable(command_), place));
    }
  }

  Asked ask(const MadeCase& made) const {
    const std::string in = scratch_.file("case.npz"), json = scratch_.file("case.json"),
                      out = scratch_.file("out.npz");
    std::error_code ignored;
    std::filesystem::remove(out, ignored);
    write_case(in, made, false, true);
    write_json(json, kit_case_json(made), true);
    const std::string command =
        with_path(with_path(with_path(command_, "{case}", in), "{json}", json), "{out}", out);
    const ProgramEnd end = run_program(command, scratch_.file("log"), limit_);
    if (end.timed_out) return {{Outcome::kTimedOut, end.text}};
    if (end.status == kNotFound || end.status == kNotExecutable) {
      throw Error(Errc::kInvalidArgument,
                  fmt::format("--judge '{}': {}; expected a command that the shell can start",
                              printable(command_), printable(end.text)));
    }
    if (end.status < 0) return {{Outcome::kFails, end.text}};  // by a signal
    if (end.status != 0) return {{Outcome::kRefuses, end.text}};
    return {judge_file(made, out, session_).verdict};
  }

 private:
  static constexpr int kNotExecutable = 126, kNotFound = 127;  // of the shell

  std::string command_;
  std::chrono::seconds limit_;
  const Session& session_;
  ScratchFolder scratch_;
};

Answer report_of(const KitOptions& options, const std::string& library, Session& session,
                 const std::function<Asked(const MadeCase&)>& ask) {
  KitReport report;
  report.library = options.library.empty() ? library : options.library;
  report.dtype = options.dtype;
  if (!options.baseline.empty()) {
    report.baseline = read_kit_baseline(options.baseline, options.dtype, report.library);
  }
  const Stopwatch watch;
  const double all = static_cast<double>(chosen_cases(options).size());
  const Progress progress = session.progress("kit");
  for_cases(options, [&](const MadeCase& made) {
    const Stopwatch of_case;
    Asked asked = ask(made);
    report.cases.push_back({made.id, made.rule, made.source, std::move(asked.verdict),
                            asked.seconds + of_case.seconds()});
    if (progress) progress(static_cast<double>(report.cases.size()) / all);
  });
  report.seconds = watch.seconds();
  const int status = report.status();
  const auto json = [report] { return kit_json(report); };
  if (options.format == Format::kJunit) return {kit_junit(report), status, json};
  return answer_in(
      options.json || options.format == Format::kJson, [&] { return kit_text(report); }, json,
      status);
}

Answer judge(const KitOptions& options, Session& session) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(options.folder, ignored)) {
    throw Error(Errc::kIo,
                fmt::format("kit judge: '{}' is no folder; expected one with the results "
                            "of each case, as `maskctl kit make` names it",
                            printable(options.folder)));
  }
  note_unknown(options, session);
  return report_of(options, options.folder, session,
                   [&](const MadeCase& made) { return verdict_in_folder(options, made, session); });
}

Answer run_library(const KitOptions& options, Session& session) {
  if (!options.program.empty()) {
    const Program program(options, session);
    return report_of(options, options.program, session,
                     [&program](const MadeCase& made) { return program.ask(made); });
  }
  const attention::Backend backend = options.backend.value_or(attention::Backend::kCpu);
  require_backend(backend, "--backend");
  return report_of(options, fmt::format("maskctl {}", name(backend)), session,
                   [backend](const MadeCase& made) {
                     return Asked{kit::judge(made, kit::run_backend(made, backend))};
                   });
}

Answer run(const KitOptions& options, Session& session) {
  check_kit(options);
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

extern const Command kKit = command<KitOptions, declare_kit, run>({
    .name = "kit",
    .group = kJudge,
    .operands = "list|make|judge|run [FOLDER]",
    .summary = "what masks mean, asked of any library case by case",
    .examples = "  maskctl kit list\n"
                "  maskctl kit run --backend cpu\n"
                "  maskctl kit run --judge './mine {case} {out}' --rule causal --format junit\n"
                "  maskctl kit make cases/ --dtype bf16\n"
                "  maskctl kit judge results/ --dtype bf16 --without gradient\n"
                "  maskctl kit run --baseline kit.json\n",
    .negative = "a case is not obeyed, or was skipped, and no baseline allows it (2: some are "
                "undecided, none worse)",
});

}  // namespace maskctl::app
