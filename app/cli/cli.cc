// Parses the command line. The only file that includes CLI11.
#include "app/cli/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <new>
#include <system_error>

#include "app/cli/commands/command.h"
#include "app/cli/commands/demo.h"
#include "app/cli/completion/completion.h"
#include "app/cli/environment.h"
#include "app/cli/launcher.h"
#include "app/cli/parser/command_word.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/help.h"
#include "app/cli/parser/pages.h"
#include "app/cli/parser/values.h"
#include "app/cli/progress.h"
#include "app/cli/stop_signals.h"
#include "app/cli/streams.h"
#include "app/cli/terminal.h"
#include "app/reports/remedies.h"
#include "app/session/ejkernel.h"
#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/base/threads.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/pipeline/parse/diagnostic.h"

namespace maskctl::app {
namespace {

using Words = std::vector<std::string>;

[[noreturn]] void usage_error(const std::string& message) {
  throw Error(Errc::kInvalidArgument, message);
}

std::string lower_first(std::string text) {
  if (text.size() > 1 && text[1] >= 'a') text[0] = static_cast<char>(std::tolower(text[0]));
  return text;
}

#if defined(__clang__)
constexpr std::string_view kCompiler = "clang";
constexpr int kCompilerVersion[] = {__clang_major__, __clang_minor__};
#else
constexpr std::string_view kCompiler = "gcc";
constexpr int kCompilerVersion[] = {__GNUC__, __GNUC_MINOR__};
#endif

std::string version_text() {
  return fmt::format(
      "maskctl {} ({} {}.{}, fmt {}.{}.{}, cli11 {}, hdf5 {}, curses {}, eigen {}, cuda {}, "
      "vectors {})\n",
      MASKCTL_VERSION, kCompiler, kCompilerVersion[0], kCompilerVersion[1], FMT_VERSION / 10000,
      FMT_VERSION / 100 % 100, FMT_VERSION % 100, CLI11_VERSION, MASKCTL_HDF5_VERSION,
      MASKCTL_CURSES_VERSION, MASKCTL_EIGEN_VERSION, MASKCTL_CUDA, attention::cpu_target());
}

/// CLI11 would take the SOURCE "-:KEY" (an array of a container on standard input) for an option.
/// So CLI11 gets such a word with a blank in front, which makes it a value.
constexpr std::string_view kStdinKey = "-:";

std::string unmarked(const std::string& text) {
  return text.starts_with(" -:") ? text.substr(1) : text;
}

void add_option(CLI::App& app, const Option& option) {
  if (option.placeholder.empty() && !option.operand) {
    app.add_flag_callback(option.names, [take = option.take] { take(""); });
  } else if (option.repeated) {
    const auto each = [take = option.take](const Words& texts) {
      for (const std::string& text : texts) take(unmarked(text));
    };
    CLI::Option* added = app.add_option_function<Words>(option.names, each);
    if (!option.operand) added->allow_extra_args(false);
  } else {
    app.add_option_function<std::string>(
        option.names, [take = option.take](const std::string& text) { take(unmarked(text)); });
  }
}

void add_options(CLI::App& app, const OptionList& list) {
  for (const Option& option : list.options()) add_option(app, option);
}

/// Throws our own message in place of CLI11's.
[[noreturn]] void rephrase(const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::string option = text.substr(0, text.find(':'));
  const auto says = [&text](const char* words) { return text.find(words) != text.npos; };
  if (says("At Most")) usage_error(option + ": given more than once");
  if (says("missing") || says("required")) usage_error(option + ": a value is missing");
  usage_error(lower_first(text));
}

/// Throws for the first operand that is none of its choices, or is required and missing.
void check_operands(const Command& command, const OptionList& own, const CLI::App& app) {
  for (const Option& option : own.options()) {
    if (!option.operand) continue;
    const auto given = app.get_option(option.names)->results();
    // A wrong word is told before the operand that is missing after it.
    if (!given.empty() && option.placeholder.find('|') != std::string::npos) {
      parse_choice(unmarked(given.front()), command.name, split(option.placeholder, '|'));
    }
    if (!option.required || !given.empty()) continue;
    if (option.names == "SOURCE") {
      usage_error(fmt::format("{}: no SOURCE; name a file, - for standard input, or gen:STEP",
                              command.name));
    }
    usage_error(fmt::format("{}: no {}; usage: maskctl {} {}", command.name, option.names,
                            command.name, command.operands));
  }
}

/// Turns `help CMD` into `CMD --help`.
Words words_of(int argc, char** argv) {
  Words out(argv + 1, argv + argc);
  if (!out.empty() && out.front() == "help") {
    out.erase(out.begin());
    out.emplace_back("--help");
  }
  for (std::string& text : out) {
    if (text.starts_with(kStdinKey)) text.insert(text.begin(), ' ');
  }
  return out;
}

/// Parses the command line, then runs the command, or prints the help or the version.
class CommandLine {
 public:
  explicit CommandLine(Words words);
  int run();

 private:
  void refuse_extras() const;
  int help(HelpScope scope) const;
  int answer();

  Words words_;
  Settings settings_;
  OptionList common_, own_;
  const Command* command_ = nullptr;
  Run run_;
  CLI::App app_;
};

CommandLine::CommandLine(Words words) : words_(std::move(words)) {
  declare_settings(common_, settings_);
  command_ = take_command(words_);
  if (command_) run_ = command_->declare(own_);
  app_.allow_extras();
  app_.set_help_flag("-h,--help");
  app_.set_help_all_flag("--help-all");
  app_.set_version_flag("-V,--version", "");  // only declares the flag; answer() handles it
  add_options(app_, common_);
  add_options(app_, own_);
}

/// Throws for the first word that is neither known to the program nor to the command.
void CommandLine::refuse_extras() const {
  Words extras = app_.remaining();
  std::erase(extras, "--");  // CLI11 counts the "--" itself among the remaining words
  if (!extras.empty()) usage_error(unknown_word(extras.front(), command_, own_));
}

int CommandLine::help(HelpScope scope) const {
  refuse_extras();
  write_stdout(command_ ? command_help(*command_, own_, scope) : program_help(scope));
  return 0;
}

/// True if this process prints errors. All MPI ranks run the same command, and only rank 0 prints.
bool speaks() { return launched_rank().value_or(LaunchedRank{}).rank == 0; }

FrontEnd front_end() {
  if (!speaks()) return {};
  return {
      .note = [](std::string_view text) { write_stderr(fmt::format("maskctl: note: {}\n", text)); },
      .progress = progress_line};
}

int CommandLine::answer() {
  check_operands(*command_, own_, app_);
  Session session(settings_, front_end());
  const StopSignals signals([&session] {
    report_lost_supervisor();
    session.cancel();
  });
  const std::optional<LaunchedRank> rank = launched_rank();
  set_threads(settings_.threads == 0 && rank ? threads_of(*rank) : settings_.threads);
  const WorkScope scope({.stop = session.stop_token()});
  const Answer answer = run_(session);
  if (!answer.text.empty()) write_stdout(answer.text, use_color(settings_.color));
  return answer.status;
}

int CommandLine::run() {
  read_environment(settings_);
  try {
    app_.parse(Words(words_.rbegin(), words_.rend()));  // CLI11 expects the words in reverse order
  } catch (const CLI::CallForHelp&) {
    return help(HelpScope::kOwn);
  } catch (const CLI::CallForAllHelp&) {
    return help(HelpScope::kAll);
  } catch (const CLI::CallForVersion&) {
    write_stdout(version_text());
    return 0;
  } catch (const CLI::ParseError& error) {
    rephrase(error);
  }
  refuse_extras();
  if (!command_) {
    if (words_.empty()) {
      write_stdout(demo_text(Session(settings_, front_end())), use_color(settings_.color));
      return 0;
    }
    write_stderr(short_help());
    return 2;
  }
  start_trace(settings_);
  return answer();
}

/// First words with which completion scripts and the build call this program. They are not listed
/// as commands, because users do not type them.
struct Internal {
  std::string_view word;
  std::string (*answer)(std::span<const std::string> words);
};
constexpr Internal kInternal[] = {
    {"__complete", completion_text},
    {"__man",
     [](std::span<const std::string> words) { return man_page(words.empty() ? "" : words[0]); }},
    {"__man-pages",
     [](std::span<const std::string>) { return fmt::format("{}\n", joined(man_pages(), "\n")); }},
    {"__markdown", [](std::span<const std::string>) { return options_markdown(); }},
};

/// If the first word is one of kInternal, prints its answer and returns true.
bool answer_internal(std::span<const std::string> words) {
  const auto* const row =
      std::ranges::find(kInternal, words.empty() ? "" : words.front(), &Internal::word);
  if (row == std::end(kInternal)) return false;
  write_stdout(row->answer(words.subspan(1)));
  return true;
}

int fail(std::string_view message) {
  if (speaks()) print_error(message);
  return 2;
}

}  // namespace

int run(int argc, char** argv) {
  try {
    if (answer_internal(Words(argv + 1, argv + argc))) return 0;
    return CommandLine(words_of(argc, argv)).run();
  } catch (const PipelineError& error) {
    return fail(fmt::format("{}\n{}", message_of(error), error.display()));
  } catch (const Error& error) {
    if (const std::string raised = ejkernel::raised_text(error); !raised.empty())
      return fail(raised);
    // A rank that was told to stop prints nothing; the process that stopped it reports the reason.
    if (error.code() == Errc::kCancelled && launched_rank()) return 2;
    return fail(message_of(error));
  } catch (const std::bad_alloc&) {
    return fail(kOutOfMemory);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again) {
      return fail("the system starts no thread; allow more memory or processes (ulimit -v, -u)");
    }
    return fail(fmt::format("internal error: {}", error.what()));
  } catch (const std::exception& error) {
    return fail(fmt::format("internal error: {}", error.what()));
  }
}

}  // namespace maskctl::app
