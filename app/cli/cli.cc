// Parses the command line with CLI11; the only file that includes it.
#include "app/cli/cli.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <new>

#include "app/cli/declare.h"
#include "app/cli/dispatch.h"
#include "app/cli/help.h"
#include "app/cli/output.h"
#include "app/cli/remedies.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/info/python_error.h"
#include "maskctl/pipeline/parse/diagnostic.h"

namespace maskctl::app {
namespace {

std::string lower_first(std::string text) {
  if (text.size() > 1 && text[1] >= 'a') text[0] = static_cast<char>(std::tolower(text[0]));
  return text;
}

std::string option_lines(const CLI::App& app) {
  std::string out;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) continue;
    std::string label = option->get_name(false, true);
    if (const auto comma = label.find(','); comma != label.npos) label.insert(comma + 1, " ");
    if (option->get_items_expected_max() > 0) label += " " + option->get_type_name();
    out += option_help(label, option->get_description());
  }
  return out;
}

/// Puts examples first, then options.
class HelpText : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override {
    const std::string options = option_lines(*app);
    return app->get_parent() ? command_help(app->get_name(), options) : program_help(options);
  }
};

std::string version_text() {
  return fmt::format("maskctl {} (gcc {}.{}, fmt {}.{}.{}, cli11 {})\n", MASKCTL_VERSION, __GNUC__,
                     __GNUC_MINOR__, FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
                     FMT_VERSION % 100, CLI11_VERSION);
}

/// CLI11 would read "-:KEY", an array of a container on standard input, as an option. A blank in
/// front makes it a value.
constexpr std::string_view kStdinKey = "-:";
constexpr std::string_view kMarkedKey = " -:";

std::string unmarked(std::string text) {
  return text.starts_with(kMarkedKey) ? text.substr(1) : text;
}

/// Hands the options of one command to CLI11.
class ParserOptions final : public OptionList {
 public:
  explicit ParserOptions(CLI::App& app) : app_(app) {}

  void operand(std::string_view name, std::string& target) override {
    app_.add_option(std::string(name), target, "")->transform(unmarked);
  }
  void operands(std::string_view name, std::vector<std::string>& targets) override {
    app_.add_option(std::string(name), targets, "")->transform(unmarked);
  }
  void value(const std::string& names, const std::string& placeholder, const std::string& help,
             Take take) override {
    app_.add_option_function<std::string>(names, std::move(take), help)
        ->type_name(placeholder)
        ->transform(unmarked);
  }
  void repeated(const std::string& names, const std::string& placeholder, const std::string& help,
                std::vector<std::string>& targets) override {
    app_.add_option(names, targets, help)->type_name(placeholder)->allow_extra_args(false);
  }
  void flag(const std::string& names, const std::string& help, bool& target) override {
    app_.add_flag(names, target, help);
  }

 private:
  CLI::App& app_;
};

class CommandLine {
 public:
  CommandLine();
  int run(int argc, char** argv);

 private:
  void refuse_extras() const;

  CLI::App app_;
  Request request_;
};

CommandLine::CommandLine() {
  app_.name("maskctl");
  app_.fallthrough();
  app_.require_subcommand(0, 1);
  app_.allow_extras();
  app_.formatter(std::make_shared<HelpText>());
  app_.set_help_flag("-h,--help", "this text, or with a command its help");
  app_.set_version_flag("-V,--version", version_text(), "the version");
  ParserOptions globals(app_);
  declare_globals(globals, request_.globals);
  for (const CommandHelp& help : command_helps()) {
    CLI::App* app = app_.add_subcommand(std::string(help.name), std::string(help.summary));
    app->allow_extras(false);
    if (!help.alias.empty()) app->alias(std::string(help.alias));
    ParserOptions options(*app);
    declare_command(help.name, options, request_);
  }
}

[[noreturn]] void usage_error(const std::string& message) {
  throw Error(Errc::kInvalidArgument, message);
}

/// Refuses words that neither the program nor the command knows.
void CommandLine::refuse_extras() const {
  auto extras = app_.remaining(true);
  std::erase(extras, "--");  // CLI11 leaves the "--" itself among them
  if (extras.empty()) return;
  std::vector<const CLI::App*> known{&app_};
  for (const CLI::App* app : app_.get_subcommands()) known.push_back(app);
  std::vector<std::string> options;
  for (const CLI::App* app : known) {
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
    }
  }
  usage_error(unknown_word(extras.front(), known.size() > 1 ? known[1]->get_name() : "", options));
}

/// Replaces CLI11's messages by ours.
[[noreturn]] void rephrase(const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::string option = text.substr(0, text.find(':'));
  const auto says = [&text](const char* words) { return text.find(words) != text.npos; };
  if (says("At Most")) usage_error(option + ": given more than once");
  if (says("missing") || says("required")) usage_error(option + ": a value is missing");
  usage_error(lower_first(text));
}

/// Turns `help CMD` into `CMD --help`.
std::vector<std::string> arguments(int argc, char** argv) {
  std::vector<std::string> out(argv + 1, argv + argc);
  if (!out.empty() && out.front() == "help") {
    out.erase(out.begin());
    out.emplace_back("--help");
  }
  for (std::string& text : out) {
    if (text.starts_with(kStdinKey)) text.insert(text.begin(), ' ');
  }
  std::reverse(out.begin(), out.end());  // the order that CLI11 expects
  return out;
}

int CommandLine::run(int argc, char** argv) {
  try {
    app_.parse(arguments(argc, argv));
  } catch (const CLI::CallForHelp&) {
    refuse_extras();
    write_stdout(app_.help());
    return 0;
  } catch (const CLI::CallForVersion&) {
    write_stdout(version_text());
    return 0;
  } catch (const CLI::ParseError& error) {
    rephrase(error);
  }
  refuse_extras();
  if (app_.get_subcommands().empty()) {
    write_stderr(short_help());
    return 2;
  }
  const auto given = [this](const char* name) { return app_.get_option(name)->count() > 0; };
  read_environment(request_.globals, {given("--max-bytes"), given("--threads"), given("--color")});
  return dispatch(app_.get_subcommands().front()->get_name(), request_);
}

int fail(std::string_view message) {
  write_stderr(fmt::format("maskctl: error: {}\n", message));
  return 2;
}

/// One line, whatever the message of an exception of ejkernel contains.
std::string error_text(const PythonError& error) {
  std::string text = fmt::format("ejkernel raises {}", name(error.type()));
  if (*error.what() != '\0') text += fmt::format(": {}", error.what());
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

int run(int argc, char** argv) {
  try {
    return CommandLine().run(argc, argv);
  } catch (const PipelineError& error) {
    return fail(fmt::format("{}\n{}", message_of(error), error.display()));
  } catch (const PythonError& error) {
    return fail(error_text(error));
  } catch (const Error& error) {
    return fail(message_of(error));
  } catch (const std::bad_alloc&) {
    return fail("out of memory; work on a part of the mask (-t slice:...) or on smaller arrays");
  } catch (const std::exception& error) {
    return fail(fmt::format("internal error: {}", error.what()));
  }
}

}  // namespace maskctl::app
