#include "app/cli/commands/check_expressible.h"

#include <fmt/format.h>

#include "app/cli/parser/values.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/pipeline/parse/values.h"
#include "maskctl/translate/expressible.h"
#include "maskctl/translate/models/hf_config.h"

namespace maskctl::app {
namespace {

/// A mask by what it is called.
struct NamedSteps {
  std::string name;
  KnownSteps steps;
};

std::vector<NamedSteps> layers_of(const ModelConfigOptions& options, Session& session) {
  const HfConfig config = load_hf_config(options.file, {options.assume_causal});
  for (const std::string& note : config.notes) session.note(note);
  std::vector<NamedSteps> out;
  for (const auto& [layer, layers] : layer_groups(config)) {
    out.push_back({"layers " + layers, known_steps(layer)});
  }
  return out;
}

NamedSteps source_of(const std::string& source, const SourceOptions& how, Session& session) {
  Loader loader(how, session);
  return {printable(source), known_steps(loader.transformed(loader.read(source).mask))};
}

std::string text_of(const Expressible& found) {
  switch (found.answer) {
    case Expressible::Answer::kYes:
      return "yes";
    case Expressible::Answer::kCannot:
      return "cannot: " + found.why;
    case Expressible::Answer::kNotKnown:
      return "not known: " + found.why;
  }
  return "";
}

}  // namespace

Answer expressible(const std::string& libraries, const ModelConfigOptions& config,
                   const std::vector<std::string>& sources, const SourceOptions& how,
                   Session& session) {
  if (config.file.empty() == sources.empty()) {
    throw Error(Errc::kInvalidArgument,
                "check: --expressible takes SOURCEs or --hf-config FILE, one of both");
  }
  std::vector<const Library*> targets;
  std::vector<std::string_view> names;
  for (const Library* library : maskctl::libraries()) names.push_back(library->name);
  for (const std::string& part : parse_list(libraries)) {
    targets.push_back(maskctl::libraries()[parse_choice(part, "--expressible", names)]);
  }
  std::vector<NamedSteps> masks;
  if (!config.file.empty()) masks = layers_of(config, session);
  for (const std::string& source : sources) masks.push_back(source_of(source, how, session));
  Answer out;
  for (const auto& [name, steps] : masks) {
    const std::string text = steps.chain ? to_text(*steps.chain) : "(unknown)";
    out.text += fmt::format("{}: {}\n", name, text.empty() ? "(no step)" : text);
    for (const Library* library : targets) {
      const Expressible found = expressible(steps, *library);
      out.text += fmt::format("  {:<17}{}\n", library->name, text_of(found));
      if (found.answer != Expressible::Answer::kYes) out.status = 1;
    }
  }
  return out;
}

}  // namespace maskctl::app
