#include "app/cli/commands/check_expressible.h"

#include <fmt/format.h>

#include "app/cli/parser/values.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/pipeline/parse/values.h"
#include "maskctl/translate/models/hf_config.h"
#include "maskctl/translate/translate.h"

namespace maskctl::app {
namespace {

/// A mask by what it is called; no chain if its steps are not known.
struct NamedChain {
  std::string name;
  std::optional<Chain> chain;
  std::string unknown;  // why there is no chain
};

std::vector<NamedChain> layers_of(const ModelConfigOptions& options, Session& session) {
  const HfConfig config = load_hf_config(options.file, {options.assume_causal});
  for (const std::string& note : config.notes) session.note(note);
  std::vector<NamedChain> out;
  for (const auto& [layer, layers] : layer_groups(config)) {
    NamedChain& one = out.emplace_back();
    one.name = "layers " + layers;
    if (layer.has_mask) {
      one.chain = chain_of(layer);
    } else {
      one.unknown = layer.type + " has no mask that is known";
    }
  }
  return out;
}

NamedChain source_of(const std::string& source, const SourceOptions& how, Session& session) {
  Loader loader(how, session);
  const Recognised found = recognise(loader.transformed(loader.read(source).mask));
  NamedChain out{printable(source), {}, ""};
  if (found.residue.cells == 0) {
    out.chain = found.chain;
  } else {
    out.unknown = "the steps that recognise finds make other cells";
  }
  return out;
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
  std::vector<NamedChain> masks;
  if (!config.file.empty()) masks = layers_of(config, session);
  for (const std::string& source : sources) masks.push_back(source_of(source, how, session));
  Answer out;
  for (const NamedChain& mask : masks) {
    const std::string steps = mask.chain ? to_text(*mask.chain) : "(unknown)";
    out.text += fmt::format("{}: {}\n", mask.name, steps.empty() ? "(no step)" : steps);
    for (const Library* library : targets) {
      std::string answer = "not known: " + mask.unknown;
      bool can = false;
      if (mask.chain) {
        const Translation made =
            translate(*mask.chain, *library, [](const Step& step) { return to_text(Chain{step}); });
        can = made.ok();
        answer = can ? "yes" : "cannot: " + made.refusal;
      }
      out.text += fmt::format("  {:<17}{}\n", library->name, answer);
      if (!can) out.status = 1;
    }
  }
  return out;
}

}  // namespace maskctl::app
