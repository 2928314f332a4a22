// The options of every command, in CLI11; the only file that sees it.
#include "app/cli/cli.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <new>

#include "app/cli/dispatch.h"
#include "app/cli/help.h"
#include "app/cli/output.h"
#include "app/cli/parse.h"
#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/pipeline/diagnostic.h"

namespace maskctl::app {
namespace {

constexpr Index kMost = (Index{1} << 31) - 1;

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

/// Examples first, then options.
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

class CommandLine {
 public:
  CommandLine();
  int run(int argc, char** argv);

 private:
  using Take = std::function<void(const std::string&)>;

  CLI::App* command(std::string_view name);
  /// An option with one value, given at most once.
  static void value(CLI::App* app, const std::string& names, const std::string& placeholder,
                    const std::string& help, const Take& take);
  static void integer(CLI::App* app, const std::string& name, Index low, const std::string& help,
                      const std::function<void(Index)>& take);
  static void choice(CLI::App* app, const std::string& name,
                     std::span<const std::string_view> names, const std::string& help,
                     const std::function<void(std::size_t)>& take);
  static void transforms(CLI::App* app, SourceOptions& source);
  static void source(CLI::App* app, SourceOptions& source);
  static void output(CLI::App* app, OutputOptions& output);
  void add_globals();
  void add_info();
  void add_show();
  void add_show_style(CLI::App* app);
  void add_apply();
  void add_combine();
  void add_gen();
  void add_stats();
  void add_ops();

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
  app_.set_help_flag("-h,--help", "this text, or with a command that command's");
  app_.set_version_flag("-V,--version", version_text(), "the version");
  add_globals();
  add_info();
  add_show();
  add_apply();
  add_combine();
  add_gen();
  add_stats();
  add_ops();
}

CLI::App* CommandLine::command(std::string_view name) {
  CLI::App* app = app_.add_subcommand(std::string(name), std::string(help_of(name).summary));
  app->allow_extras(false);
  return app;
}

void CommandLine::value(CLI::App* app, const std::string& names, const std::string& placeholder,
                        const std::string& help, const Take& take) {
  app->add_option_function<std::string>(names, take, help)->type_name(placeholder);
}

void CommandLine::integer(CLI::App* app, const std::string& name, Index low,
                          const std::string& help, const std::function<void(Index)>& take) {
  const std::string spelled = name.substr(name.rfind("--"));
  value(app, name, "N", help,
        [=](const std::string& text) { take(parse_integer(text, spelled, low, kMost)); });
}

void CommandLine::choice(CLI::App* app, const std::string& name,
                         std::span<const std::string_view> names, const std::string& help,
                         const std::function<void(std::size_t)>& take) {
  const std::string list = fmt::format("{}", fmt::join(names, "|"));
  value(app, name, list, help,
        [=](const std::string& text) { take(parse_choice(text, name, names)); });
}

void CommandLine::add_globals() {
  static const auto when = [](std::size_t i) { return static_cast<When>(i); };
  value(&app_, "-j,--threads", "N", "threads to use; 0, the default: one for each core",
        [](const std::string& text) {
          set_threads(static_cast<int>(parse_integer(text, "--threads", 0, kMostThreads)));
        });
  value(&app_, "--max-bytes", "SIZE", "refuse to allocate more than this for one array (4GiB)",
        [this](const std::string& text) {
          request_.globals.max_bytes = parse_size(text, "--max-bytes");
        });
  choice(&app_, "--color", kWhens, "colours in drawings; auto: on a terminal",
         [this](std::size_t i) { request_.globals.color = when(i); });
  static constexpr std::string_view kProgress[] = {"auto", "never"};
  choice(&app_, "--progress", kProgress, "a line on stderr during long work",
         [this](std::size_t i) { request_.globals.progress = i == 0; });
  app_.add_flag("--strict", request_.globals.strict, "make an error of what is otherwise a note");
  app_.add_flag("-q,--quiet", request_.globals.quiet, "no notes and no progress on stderr");
  app_.add_flag("-v,--verbose", request_.globals.verbose,
                "say on stderr what is read and how long it took");
}

void CommandLine::transforms(CLI::App* app, SourceOptions& source) {
  app->add_option("-t,--transform", source.transforms,
                  "steps to apply, in the order given; may be repeated; @FILE reads a file")
      ->type_name("PIPELINE")
      ->allow_extra_args(false);
  integer(app, "--pad-id", -kMost - 1, "the segment id that sees nothing (-1)",
          [&source](Index n) { source.pad_id = static_cast<std::int32_t>(n); });
}

void CommandLine::source(CLI::App* app, SourceOptions& source) {
  transforms(app, source);
  value(app, "--as", "KIND",
        "how to read the array: dense, padding, key-padding, segments, cu_seqlens, pairs, runs; or "
        "bf16 for 2-byte elements of no known type",
        [&source](const std::string& text) {
          if (text == "bf16" || text == "bfloat16") {
            source.as_bf16 = true;
          } else {
            source.as = parse_kind(text, "--as");
          }
        });
  static constexpr std::string_view kKeep[] = {"0", "1"};
  choice(app, "--keep-value", kKeep, "the value that may attend (1)",
         [&source](std::size_t i) { source.keep_value_is_zero = i == 0; });
  value(app, "--shape", "B+H+Q+K", "extents that the array does not carry",
        [&source](const std::string& text) { source.shape = parse_shape(text, "--shape"); });
}

void CommandLine::output(CLI::App* app, OutputOptions& output) {
  value(app, "-o,--output", "DEST", "FILE.npy, FILE.npz:KEY, or - for standard output",
        [&output](const std::string& text) { output.dest = text; });
  static constexpr std::string_view kForms[] = {"dense", "runs"};
  choice(app, "--to", kForms,
         "write a dense array (default), or an .npz of runs, small at any size",
         [&output](std::size_t i) { output.runs = i == 1; });
  value(app, "--dtype", "TYPE", "type of the elements, as numpy names it (bool)",
        [&output](const std::string& text) { output.dtype = parse_dtype(text, "--dtype"); });
  app->add_flag("-f,--force", output.force, "replace an existing file");
}

void CommandLine::add_info() {
  CLI::App* app = command("info");
  app->add_option("SOURCE", request_.info.sources, "");
  source(app, request_.info.source);
  app->add_flag("--json", request_.info.json, "print JSON (maskctl.info/1)");
}

void CommandLine::add_show() {
  CLI::App* app = command("show");
  app->add_option("SOURCE", request_.show.name, "");
  source(app, request_.show.source);
  integer(app, "--batch", -kMost, "which batch to draw (0)",
          [this](Index n) { request_.show.batch = n; });
  integer(app, "--head", -kMost, "which head to draw (0)",
          [this](Index n) { request_.show.head = n; });
  value(app, "--segments", "SOURCE", "segment ids that label the axes",
        [this](const std::string& text) { request_.show.segments = text; });
  app->add_flag("--no-segments", request_.show.no_segments, "no ids along the axes");
  integer(app, "--max-rows", 0, "lines the drawing may take; 0: any (ejkernel: block rows, 32)",
          [this](Index n) { request_.show.max_rows = n; });
  integer(app, "--max-columns", 0, "columns it may take; 0: any (ejkernel: block columns, 64)",
          [this](Index n) { request_.show.max_columns = n; });
  value(app, "--block", "QxK", "elements for each cell of the drawing",
        [this](const std::string& text) { request_.show.block = parse_block(text, "--block"); });
  add_show_style(app);
}

void CommandLine::add_show_style(CLI::App* app) {
  static constexpr std::string_view kStyles[] = {"auto",     "shade", "half",    "braille",
                                                 "quadrant", "ascii", "ejkernel"};
  choice(app, "--style", kStyles, "characters to draw with; ejkernel: the text of its visualize()",
         [this](std::size_t i) {
           request_.show.ejkernel = i == 6;
           if (i < 6) request_.show.style = static_cast<Style>(i);
         });
  static constexpr std::string_view kAggs[] = {"any", "all", "majority"};
  choice(app, "--agg", kAggs, "when a cell of half, quadrant or braille is on (any)",
         [this](std::size_t i) { request_.show.agg = static_cast<Agg>(i); });
  static constexpr std::string_view kPalettes[] = {"cividis", "viridis", "grey"};
  choice(app, "--palette", kPalettes, "colours of densities",
         [this](std::size_t i) { request_.show.palette = static_cast<Palette>(i); });
  app->add_flag("--grid", request_.show.grid, "a dot where nothing is open");
  app->add_flag("--ascii", request_.show.ascii, "ASCII only (ejkernel: its ascii charset)");
  app->add_flag("--no-fit", request_.show.no_fit, "ejkernel: draw every block");
}

void CommandLine::add_apply() {
  CLI::App* app = command("apply");
  app->add_option("SOURCE", request_.apply.name, "");
  source(app, request_.apply.source);
  output(app, request_.apply.output);
  app->add_flag("--print", request_.apply.print, "print the pipeline as it was understood");
}

void CommandLine::add_combine() {
  CLI::App* app = command("combine");
  app->add_option("SOURCE", request_.combine.names, "");
  static constexpr std::string_view kOps[] = {"and", "or", "xor", "sub"};
  choice(app, "--op", kOps, "sub: open in the first, closed in the others",
         [this](std::size_t i) { request_.combine.op = static_cast<Op>(i); });
  source(app, request_.combine.source);
  output(app, request_.combine.output);
}

void CommandLine::add_gen() {
  CLI::App* app = command("gen");
  app->add_option("STEP", request_.gen.step, "");
  transforms(app, request_.gen.source);
  output(app, request_.gen.output);
}

void CommandLine::add_stats() {
  CLI::App* app = command("stats");
  app->add_option("SOURCE", request_.stats.name, "");
  request_.stats.blocks = {{64, 64}, {128, 128}};
  source(app, request_.stats.source);
  value(app, "--block", "QxK+QxK", "tile sizes to count, 64 = 64x64 (64+128)",
        [this](const std::string& text) { request_.stats.blocks = parse_blocks(text, "--block"); });
  app->add_flag("--json", request_.stats.json, "print JSON (maskctl.stats/1)");
}

void CommandLine::add_ops() {
  CLI::App* app = command("ops");
  app->add_option("NAME", request_.ops.name, "");
  app->add_flag("--json", request_.ops.json, "print JSON (maskctl.ops/1)");
}

[[noreturn]] void usage_error(const std::string& message) {
  throw Error(Errc::kInvalidArgument, message);
}

/// What neither the program nor the command knows.
void CommandLine::refuse_extras() const {
  auto extras = app_.remaining(true);
  std::erase(extras, "--");  // CLI11 leaves the mark itself among them
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

/// CLI11's own messages, in our words.
[[noreturn]] void rephrase(const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::string option = text.substr(0, text.find(':'));
  const auto says = [&text](const char* words) { return text.find(words) != text.npos; };
  if (says("At Most")) usage_error(option + ": given more than once");
  if (says("missing") || says("required")) usage_error(option + ": a value is missing");
  usage_error(lower_first(text));
}

/// `help CMD` is `CMD --help`.
std::vector<std::string> arguments(int argc, char** argv) {
  std::vector<std::string> out(argv + 1, argv + argc);
  if (!out.empty() && out.front() == "help") {
    out.erase(out.begin());
    out.emplace_back("--help");
  }
  std::reverse(out.begin(), out.end());  // as CLI11 wants them
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
  dispatch(app_.get_subcommands().front()->get_name(), request_);
  return 0;
}

int fail(std::string_view message) {
  write_stderr(fmt::format("maskctl: error: {}\n", message));
  return 2;
}

}  // namespace

int run(int argc, char** argv) {
  try {
    return CommandLine().run(argc, argv);
  } catch (const PipelineError& error) {
    return fail(fmt::format("{}\n{}", error.what(), error.display()));
  } catch (const Error& error) {
    return fail(error.what());
  } catch (const std::bad_alloc&) {
    return fail("out of memory; work on a part of the mask (-t slice:...)");
  } catch (const std::exception& error) {
    return fail(fmt::format("internal error: {}", error.what()));
  }
}

}  // namespace maskctl::app
