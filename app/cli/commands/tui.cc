// maskctl tui: opens a mask in the interactive inspector.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "app/cli/commands/command.h"
#include "app/cli/environment.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/cli/terminal.h"
#include "app/tui/inspector.h"
#include "app/tui/screens/help.h"
#include "app/tui/state/input.h"
#include "maskctl/base/atomic_file.h"
#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/pipeline/load.h"
#include "maskctl/render/picture/canvas_svg.h"

namespace maskctl::app {
namespace {

struct TuiOptions {
  tui::Subject subject;
  OtherSource other;
  bool ascii = false, eight_colors = false, no_mouse = false;
  bool keys = false;
  std::string script, dump, record;
  Index rows = 24, columns = 80;
  bool force = false;

  bool headless() const { return !dump.empty(); }
};

void parse_size(const std::string& text, TuiOptions& options) {
  const auto parts = split(text, 'x');
  if (parts.size() != 2) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("--size '{}': expected columns x rows, as in 80x24", text));
  }
  options.columns = parse_integer(parts[0], "--size", 1, 1000);
  options.rows = parse_integer(parts[1], "--size", 1, 1000);
}

void declare(OptionList& list, TuiOptions& tui) {
  list.operand("SOURCE", tui.subject.name, false);
  list.operand("OTHER", tui.subject.other, false);
  declare_source(list, tui.subject.source);
  tui.other.declare(list);
  declare_documents(list, tui.subject.documents);
  declare_tokens(list, tui.subject.tokens);
  tui::WeightOptions& weights = tui.subject.weights;
  list.text("--query", "SOURCE", "queries [B,Tq,Hq,D] for attention weights (random)",
            weights.query);
  list.text("--key", "SOURCE", "keys [B,Tk,Hkv,D] for attention weights (random)", weights.key);
  list.integer("--seed", 0, "seed of random queries and keys (0)",
               [&weights](Index n) { weights.seed = static_cast<std::uint64_t>(n); });
  list.flag("--ascii", "ASCII only", tui.ascii);
  list.flag("--eight-colors", "no more colours than eight", tui.eight_colors);
  list.flag("--no-mouse", "leave the mouse to the terminal", tui.no_mouse);
  list.flag("--keys", "list the keys", tui.keys);
  list.text("--dump", "FILE",
            "without a terminal: write the screen as .txt, .ansi or .svg; - for text", tui.dump);
  list.text("--script", "KEYS", "what to type before that, as in 'jj<Right>:37,4<Enter>'; @FILE",
            tui.script);
  list.text("--record", "FILE", "write what was typed, as --script @FILE reads it", tui.record);
  list.value("--size", "COLUMNSxROWS", "the size of that screen (80x24)",
             [&tui](const std::string& text) { parse_size(text, tui); });
  list.flag("-f,--force", "replace an existing file", tui.force);
}

bool utf8(const TuiOptions& options) {
  return !options.ascii && stdout_drawing(Style::kAuto, When::kNever).style != Style::kAscii;
}

/// The largest set of colours that the options allow; a terminal may have fewer.
tui::Colors colors(const TuiOptions& options, const Settings& settings) {
  const bool none = settings.color == When::kAuto ? *environment("NO_COLOR") != '\0'
                                                  : settings.color == When::kNever;
  if (none) return tui::Colors::kNone;
  return options.eight_colors ? tui::Colors::kEight : tui::Colors::kMany;
}

/// The screen in the format of the file name: .svg, .ansi, or else text.
std::string dumped(const Canvas& canvas, const std::string& file) {
  if (file.ends_with(".svg")) return svg_of(canvas);
  return file.ends_with(".ansi") ? canvas.ansi() : canvas.text();
}

/// The median and the longest time to draw a screen: "241 screens: median 1.10 ms, worst 7.92 ms".
std::string times_text(std::vector<double> milliseconds) {
  if (milliseconds.empty()) return "no keys";
  std::ranges::sort(milliseconds);
  return fmt::format("{} screens: median {:.2f} ms, worst {:.2f} ms", milliseconds.size(),
                     milliseconds[milliseconds.size() / 2], milliseconds.back());
}

/// The file that gets what was typed. It appears when the inspector has ended, whole.
class Recording {
 public:
  explicit Recording(const TuiOptions& options) {
    if (!options.record.empty()) file_.emplace(options.record, options.force);
  }
  std::vector<tui::Input>* inputs() { return file_ ? &inputs_ : nullptr; }
  void write() {
    if (!file_) return;
    const std::string text = tui::script_text(inputs_);
    file_->write(std::as_bytes(std::span(text)));
    file_->commit();
  }

 private:
  std::optional<AtomicFile> file_;
  std::vector<tui::Input> inputs_;
};

Answer play(const TuiOptions& options, const tui::Subject& subject, const Session& session) {
  const tui::Screen screen{options.rows, options.columns, utf8(options),
                           colors(options, session.settings())};
  const tui::Played played =
      tui::play(subject, session.settings(), screen, pipeline_text(options.script));
  if (session.settings().verbose) session.note(times_text(played.milliseconds));
  const std::string text = dumped(played.screen, options.dump);
  if (options.dump == "-") return {text};
  AtomicFile file(options.dump, options.force);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
  return {};
}

constexpr Index kKeyColumns = 96;

std::string keys_text() {
  std::string out;
  for (const std::string& line : tui::help_lines(kKeyColumns)) out += line + "\n";
  return out;
}

Answer run(const TuiOptions& options, Session& session) {
  if (options.keys) return {keys_text()};
  if (options.subject.name.empty()) {
    throw Error(Errc::kInvalidArgument,
                "tui: no SOURCE; name a file, - for standard input, or gen:STEP");
  }
  if (!options.headless() && !options.script.empty()) {
    throw Error(Errc::kInvalidArgument, "tui: --script goes with --dump FILE");
  }
  if (options.headless() && !options.record.empty()) {
    throw Error(Errc::kInvalidArgument,
                "tui: --record writes what is typed on a terminal; leave out --dump");
  }
  tui::Subject subject = options.subject;
  subject.other_source = options.other.after(subject.source);
  if (options.headless()) return play(options, subject, session);
  Recording recording(options);
  tui::inspect(
      subject, session.settings(),
      {utf8(options), colors(options, session.settings()), !options.no_mouse, recording.inputs()},
      session.stop_token());
  recording.write();
  return {};
}

}  // namespace

extern const Command kTui = command<TuiOptions, declare, run>({
    .name = "tui",
    .group = kLook,
    .operands = "SOURCE [OTHER]",
    .summary = "look at a mask, walk in it and change its pipeline, in the terminal",
    .examples = "  maskctl tui mask.npy\n"
                "  maskctl tui seg.npy --as segments -t causal -t window:keys=128\n"
                "  maskctl tui have.npy want.npy\n"
                "  maskctl tui mask.npy --script 'n=' --size 100x30 --dump screen.svg\n",
});

}  // namespace maskctl::app
