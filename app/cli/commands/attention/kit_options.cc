#include "app/cli/commands/attention/kit_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/parser/values.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"

namespace maskctl::app {
namespace {

using Format = KitOptions::Format;

constexpr std::string_view kKitDtypes[] = {"f32", "f16", "bf16"};
constexpr DType kKitDtypeOf[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};
constexpr std::string_view kKitFormats[] = {"text", "json", "junit"};

bool is_of(std::string_view id, std::string_view chosen) {
  return id == chosen || (id.starts_with(chosen) && id.substr(chosen.size()).starts_with('.'));
}

/// Whether a choice, a rule, the begin of some or a case, means this one.
bool is_chosen(const KitChoice& one, std::string_view chosen) {
  return is_of(one.rule->id, chosen) || one.id() == chosen;
}

bool is_chosen(const KitChoice& one, const std::vector<std::string>& chosen) {
  return std::ranges::any_of(chosen, [&one](const auto& text) { return is_chosen(one, text); });
}

std::vector<KitChoice> all_cases() {
  std::vector<KitChoice> out;
  for (const kit::Rule* const rule : kit::all_rules()) {
    for (std::size_t i = 0; i < rule->cases.size(); ++i) out.push_back({rule, i});
  }
  return out;
}

}  // namespace

void declare_kit(OptionList& list, KitOptions& options) {
  list.operand("ACTION", kKitActions, options.action);
  list.operand("FOLDER", options.folder, false);
  list.choice("--dtype", kKitDtypes, "the precision of the arrays (f32)",
              [&options](std::size_t i) { options.dtype = kKitDtypeOf[i]; });
  list.repeated("--rule", "RULE",
                "only this rule or case, or all rules whose ids begin with it and a dot; may be "
                "repeated",
                options.rules);
  list.repeated("--without", "RULE", "not this rule or case, or these; may be repeated",
                options.without);
  list.text("--baseline", "FILE",
            "judge, run: what --json printed before; what is as it was then, or better, is allowed",
            options.baseline);
  list.text("--judge", "COMMAND",
            "run: a command; {case} in it is the .npz of a case, {json} what is asked, {out} the "
            ".npz that it writes",
            options.program);
  list.value("--timeout", "SECONDS",
             fmt::format("run: how long the command may take for a case ({})", kKitSeconds),
             [&options](const std::string& text) {
               constexpr Index kMost = 1'000'000;
               options.seconds = parse_integer(text, "--timeout", 1, kMost);
             });
  list.choice("--backend", attention::backend_names(), "run: one of our own backends (cpu)",
              [&options](std::size_t i) {
                options.backend = attention::backend_from_name(attention::backend_names()[i]);
              });
  list.text("--library", "NAME", "judge, run: what reports call the library", options.library);
  list.flag("-f,--force", "make: replace existing files", options.force);
  list.choice("--format", kKitFormats, "how to print the verdicts (text); json: maskctl.kit/1",
              [&options](std::size_t i) { options.format = static_cast<Format>(i); });
  list.flag("--json", "the same as --format json", options.json);
}

void check_kit(const KitOptions& options) {
  const bool list = options.action == "list", make = options.action == "make";
  const bool judge = options.action == "judge", run = options.action == "run";
  const bool program = !options.program.empty();
  const struct {
    std::string_view name;
    bool given, read;
    std::string_view reader;
  } all[] = {
      {"a FOLDER", !options.folder.empty(), make || judge, "kit make and kit judge"},
      {"--judge", program, run, "kit run"},
      {"--backend", options.backend.has_value(), run && !program, "kit run without --judge"},
      {"--timeout", options.seconds.has_value(), run && program, "kit run with --judge"},
      {"--library", !options.library.empty(), run || judge, "kit run and kit judge"},
      {"--baseline", !options.baseline.empty(), run || judge, "kit run and kit judge"},
      {"--force", options.force, make, "kit make"},
      {"--json", options.json, !make, "kit list, kit judge and kit run"},
      {"--format", options.format.has_value(), !make, "kit list, kit judge and kit run"},
      {"--format junit", options.format == Format::kJunit, !list, "kit judge and kit run"},
      {"--json", options.json, options.format.value_or(Format::kJson) == Format::kJson,
       "--format json"},
  };
  for (const auto& one : all) {
    if (!one.given || one.read) continue;
    throw Error(Errc::kInvalidArgument,
                fmt::format("kit {}: {} goes with {}", options.action, one.name, one.reader));
  }
}

std::vector<KitChoice> chosen_cases(const KitOptions& options) {
  std::vector<KitChoice> out = all_cases();
  for (const auto* const choices : {&options.rules, &options.without}) {
    for (const std::string& one : *choices) {
      if (std::ranges::any_of(out, [&one](const auto& made) { return is_chosen(made, one); })) {
        continue;
      }
      throw Error(Errc::kInvalidArgument,
                  fmt::format("no rule or case '{}'; `maskctl kit list` has all rules, and -1 is "
                              "the first case of one",
                              printable(one)));
    }
  }
  std::erase_if(out, [&options](const KitChoice& one) {
    const bool wanted = options.rules.empty() || is_chosen(one, options.rules);
    return !wanted || is_chosen(one, options.without);
  });
  if (!out.empty()) return out;
  throw Error(
      Errc::kInvalidArgument,
      fmt::format("no case is left to ask: {}, in --without, excludes {}; drop one of --without",
                  joined(options.without, ", "),
                  options.rules.empty() ? "every rule"
                                        : "all of " + joined(options.rules, ", ") + ", in --rule"));
}

}  // namespace maskctl::app
