// maskctl translate: expresses one mask in the arguments of other libraries.
#include "maskctl/translate/translate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>

#include "app/cli/commands/command.h"
#include "app/cli/commands/model_config.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/reports/json_explain.h"
#include "app/session/loader.h"
#include "app/session/save.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/io/formats/container.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/pipeline/mask_file.h"
#include "maskctl/pipeline/parse/values.h"
#include "maskctl/translate/mask_form.h"
#include "maskctl/translate/models/hf_config.h"

namespace maskctl::app {
namespace {

struct TranslateOptions {
  SourceOptions source;
  std::vector<std::string> arguments;  // words of the arguments of the library `from`
  std::string from, to;
  ModelConfigOptions config;
  std::string table;  // W: what window W means in each library; "all": all arguments of all
  std::string write;  // folder for arrays that the code needs
  bool json = false;
};

std::vector<std::string_view> library_names() {
  std::vector<std::string_view> names;
  for (const Library* library : libraries()) names.push_back(library->name);
  return names;
}

void declare(OptionList& list, TranslateOptions& translate) {
  list.operands("ARGUMENTS", translate.arguments, false);
  declare_transforms(list, translate.source);
  list.text("--from", "LIBRARY",
            fmt::format("the library of ARGUMENTS: {}", joined(library_names(), ", ")),
            translate.from);
  list.text("--to", "LIBRARY+...", "the libraries to write for (all)", translate.to);
  declare_config(list, translate.config, "the masks of the layers of a Hugging Face config.json");
  list.text("--table", "W",
            "how many keys a window of W is, for each library; all: every argument of every "
            "library",
            translate.table);
  list.text("--write", "DIR", "where to write arrays that are too long for the code",
            translate.write);
  list.json("maskctl.translate/1, translate-table/1", translate.json);
}

using Targets = std::vector<const Library*>;

constexpr std::size_t kNameWidth = 17;
constexpr Index kMostKeys = (Index{1} << 31) - 1;

std::string step_text(const Step& step) { return to_text(Chain{step}); }

/// The words of a shell as one text: arguments with commas between them, but not inside brackets.
std::string joined_arguments(std::span<const std::string> words) {
  std::string out;
  for (const std::string& word : words) {
    const auto count = [&out](const char* signs) {
      return std::ranges::count_if(out, [signs](char c) { return std::strchr(signs, c); });
    };
    const bool ended = out.ends_with(',') || word.starts_with(',');
    const bool inside = count("([{") > count(")]}");
    if (!out.empty()) out += ended || inside ? " " : ", ";
    out += word;
  }
  return out;
}

const Library& parse_library(std::string_view text, std::string_view option) {
  return *libraries()[parse_choice(text, option, library_names())];
}

/// Parses a list of libraries: "fa+te" or "all".
Targets parse_targets(std::string_view text) {
  if (text.empty() || text == "all") return {libraries().begin(), libraries().end()};
  Targets out;
  for (const std::string& part : parse_list(text)) out.push_back(&parse_library(part, "--to"));
  return out;
}

std::string keys_text(Index keys) { return fmt::format("{} {}", keys, keys == 1 ? "key" : "keys"); }

/// Says in words which keys a query far from both ends sees.
std::string meaning_of(const MaskForm& mask) {
  std::string out;
  if (mask.left && mask.right) {
    const Index keys = std::max<Index>(*mask.left + *mask.right + 1, 0);
    out = fmt::format("a query far from the ends sees {}: {} before its own, its own, {} after",
                      keys_text(keys), *mask.left, *mask.right);
  } else if (mask.causal()) {
    out = "a query sees its own key and all before it";
  } else {
    out = "a query sees every key";
    if (mask.left) out = fmt::format("a query sees {} before its own, and all after", *mask.left);
    if (mask.right) out = fmt::format("a query sees all before its own, and {} after", *mask.right);
  }
  const bool square = mask.documents && mask.inside && mask.kv_lengths.empty();
  if ((mask.left || mask.right) && mask.align == Align::kUnset && !square) {
    out += " (where Q = K; else give align=)";
  }
  if (mask.chunk) out += fmt::format("; of its chunk of {}", *mask.chunk);
  const bool rows = mask.chunk && mask.chunk_align != Align::kBottomRight && !mask.documents;
  if (rows && mask.align == Align::kBottomRight) out += ", queries counted from row 0";
  if (mask.sinks > 0) out += fmt::format("; and the first {}", mask.sinks);
  if (mask.prefix > 0) out += fmt::format("; every query sees the first {}", mask.prefix);
  if (mask.documents)
    out += mask.inside ? "; of its document" : "; of its document (all counted over documents)";
  if (mask.padded()) out += "; none of padding";
  if (!mask.rest.empty()) out = "no single band: " + mask.rest;
  return out;
}

TranslateReport report_of(const Chain& chain, const Targets& targets) {
  TranslateReport out;
  out.pipeline = to_text(chain);
  out.meaning = meaning_of(mask_form(chain, step_text));
  for (const Library* target : targets) {
    out.translations.push_back(translate(chain, *target, step_text));
  }
  return out;
}

/// A report for each distinct mask of the config's layers, in the order of the first layer with it.
std::vector<TranslateReport> config_reports(const HfConfig& config, const Targets& targets) {
  std::vector<TranslateReport> out;
  for (const auto& [layer, layers] : layer_groups(config)) {
    TranslateReport report =
        layer.has_mask ? report_of(chain_of(layer), targets) : TranslateReport{};
    if (!layer.has_mask) {
      report.meaning = layer.type + ": not full, sliding or chunked attention; its mask is unknown";
    }
    report.layers = layers;
    out.push_back(std::move(report));
  }
  return out;
}

std::string lines_of(const Translation& translation) {
  std::string out;
  std::string_view label = translation.library->name;
  const auto line = [&](const std::string& text) {
    out += fmt::format("{:<{}}{}\n", label, kNameWidth, text);
    label = "";
  };
  for (const std::string& code : translation.code) line(code);
  if (!translation.ok()) line("cannot: " + translation.refusal);
  for (const std::string& note : translation.notes) line("# " + note);
  if (translation.ok()) line(fmt::format("# a row without keys: {}", translation.empty_row));
  return out;
}

std::string text_of_report(const TranslateReport& report) {
  std::string out;
  if (!report.layers.empty()) out += fmt::format("{:<{}}{}\n", "layers", kNameWidth, report.layers);
  out += fmt::format("{:<{}}{}\n", "mask", kNameWidth,
                     !report.pipeline           ? "(unknown)"
                     : report.pipeline->empty() ? "(no step)"
                                                : *report.pipeline);
  out += fmt::format("{:<{}}{}\n", "", kNameWidth, report.meaning);
  for (const Translation& translation : report.translations) out += "\n" + lines_of(translation);
  return out;
}

std::string conventions_text(Index w) {
  std::size_t width = 42;
  for (const WindowConvention& row : window_conventions()) {
    width = std::max(width, argument_of(row, w).size() + 1);
  }
  std::string out =
      fmt::format("{:>6}  {:<50}{:<{}}{}\n", "keys", "library", "argument", width, "source");
  for (const WindowConvention& row : window_conventions()) {
    out += fmt::format("{:>6}  {:<50}{:<{}}{}\n", keys_of_window(row, w), row.api,
                       argument_of(row, w), width, row.source);
  }
  return out + "keys: seen by a query far from both ends, its own included\n";
}

/// Describes a call of a library: its mask, and the meaning of each argument.
std::string arguments_text(const Library& library, const Convention& row) {
  const auto aligned = [&](Align align, const char* text) {
    return row.align == align ? text : "";
  };
  std::string out = fmt::format(
      "{}: {}{}{}{}{}{}{}\n", library.name, row.module, row.module.empty() ? "" : ".", row.call,
      aligned(Align::kTopLeft, ", top-left"), aligned(Align::kBottomRight, ", bottom-right"),
      row.causal ? ", causal" : "", row.documents ? ", inside each document" : "");
  std::vector<std::string_view> masks, unread;
  for (const Argument& argument : row.arguments) {
    if (argument.meaning == ArgumentMeaning::kMask) masks.push_back(argument.name);
    if (argument.meaning == ArgumentMeaning::kUnread) unread.push_back(argument.name);
    if (argument.meaning >= ArgumentMeaning::kUnread) continue;
    out += fmt::format(
        "    {:<28}{}{}\n", argument.name, meaning(argument.meaning),
        argument.fallback.empty() ? "" : fmt::format("; default {}", argument.fallback));
  }
  if (!masks.empty()) {
    out += fmt::format("    # masks of their own: {}\n", fmt::join(masks, ", "));
  }
  if (!unread.empty()) {
    out += fmt::format("    # read at their defaults alone: {}\n", fmt::join(unread, ", "));
  }
  if (!row.overrides.empty()) out += fmt::format("    # {}\n", row.overrides);
  return out + fmt::format("    source: {}\n", row.source);
}

/// The table of `--table all`: all calls of all libraries.
std::string arguments_text() {
  std::string out;
  for (const Library* library : libraries()) {
    for (const Convention& row : library->calls) out += arguments_text(*library, row);
  }
  return out;
}

/// Writes the arrays that the code needs, or prints a note that says how to write them.
void place_arrays(const TranslateOptions& options, const std::vector<TranslateReport>& reports,
                  Session& session) {
  std::map<std::string, const Tensor*> arrays;
  for (const TranslateReport& report : reports) {
    for (const Translation& one : report.translations) {
      for (const Translation::Array& array : one.arrays) {
        const auto [at, fresh] = arrays.emplace(array.name, &array.array);
        if (!fresh && !std::ranges::equal(at->second->bytes(), array.array.bytes())) {
          throw Error(Errc::kInvalidArgument,
                      fmt::format("translate: {}.npy would hold different arrays for different "
                                  "libraries; give one library in --to",
                                  array.name));
        }
      }
    }
  }
  if (options.write.empty()) {
    if (!arrays.empty())
      session.note("the arrays of the code are not written; --write DIR does it");
    return;
  }
  for (const auto& [name, array] : arrays) {
    OutputOptions output;
    output.dest = fmt::format("{}/{}.npy", options.write, name);
    write_output(*array, output, session);
  }
}

/// The steps of the file of a mask that ARGUMENTS name; nothing if they name none.
std::optional<Chain> steps_in_file(const TranslateOptions& options, Session& session) {
  std::error_code failed;
  if (options.arguments.size() != 1 || !options.from.empty() ||
      !std::filesystem::is_regular_file(options.arguments.front(), failed)) {
    return std::nullopt;
  }
  const std::string& path = options.arguments.front();
  const ReadOptions how{.max_bytes = session.settings().max_bytes};
  if (mask_file_format(*session.containers().open(path, how)).empty()) return std::nullopt;
  return read_mask_file(path, how).steps.chain;
}

std::vector<TranslateReport> reports_of(const TranslateOptions& options, std::optional<Chain> steps,
                                        Session& session) {
  const bool config = !options.config.file.empty();
  // With --config alone, print the masks without code.
  const auto targets = config && options.to.empty() ? Targets{} : parse_targets(options.to);
  if (config) {
    const HfConfig read = load_hf_config(options.config.file, {options.config.assume_causal});
    for (const std::string& text : read.notes) session.note(text);
    return config_reports(read, targets);
  }
  Chain chain = std::move(steps).value_or(Chain());
  if (!options.from.empty()) {
    chain = parse_library(options.from, "--from").read(joined_arguments(options.arguments));
  } else {
    Loader loader(options.source, session);
    std::ranges::move(loader.chain(), std::back_inserter(chain));
  }
  return {report_of(chain, targets)};
}

void check_inputs(const TranslateOptions& options, bool steps_given) {
  if (options.from.empty() && !options.arguments.empty() && !steps_given) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("translate '{}': the arguments of which library? give --from LIBRARY; "
                            "for a mask in a file, give -t PIPELINE, which maskctl recognise FILE "
                            "prints",
                            printable(options.arguments.front())));
  }
  check_config(options.config);
  const int inputs = !options.from.empty() + !options.config.file.empty() +
                     (steps_given || !options.source.transforms.empty()) + !options.table.empty();
  if (inputs != 1) {
    throw Error(Errc::kInvalidArgument,
                "translate: expected one of --from LIBRARY 'ARGUMENTS', -t PIPELINE, --hf-config "
                "FILE, --table W or all");
  }
}

Answer run(const TranslateOptions& options, Session& session) {
  std::optional<Chain> steps = steps_in_file(options, session);
  check_inputs(options, steps.has_value());
  if (!options.table.empty()) {
    if (options.table == "all") {
      return answer_in(
          options.json, [] { return arguments_text(); }, [] { return conventions_json(); });
    }
    if (!whole_number_from(options.table)) {
      throw Error(
          Errc::kInvalidArgument,
          fmt::format("--table '{}': expected a number of keys, or all", printable(options.table)));
    }
    const Index w = parse_integer(options.table, "--table", 1, kMostKeys);
    return answer_in(
        options.json, [w] { return conventions_text(w); }, [w] { return windows_json(w); });
  }
  const std::vector<TranslateReport> reports = reports_of(options, std::move(steps), session);
  place_arrays(options, reports, session);
  const bool all = std::ranges::all_of(reports, [](const TranslateReport& report) {
    return std::ranges::all_of(report.translations, &Translation::ok);
  });
  const auto text = [&] {
    std::string out;
    for (const TranslateReport& report : reports) {
      out += (out.empty() ? "" : "\n") + text_of_report(report);
    }
    return out;
  };
  return answer_in(
      options.json, text, [=] { return translate_json(reports); }, all ? 0 : 1);
}

}  // namespace

extern const Command kTranslate = command<TranslateOptions, declare, run>({
    .name = "translate",
    .group = kAsk,
    .operands = "[ARGUMENTS]",
    .summary = "one mask in the arguments of other libraries",
    .examples = "  maskctl translate --from hf 'sliding_window=4096' --to fa+te+cudnn+xformers\n"
                "  maskctl translate -t 'window:keys=128' --to flex\n"
                "  maskctl translate m.safetensors --to flex\n"
                "  maskctl translate --hf-config config.json\n"
                "  maskctl translate --table 4\n"
                "  maskctl translate --table all\n",
    .negative = "a library cannot express the mask",
});

}  // namespace maskctl::app
