// maskctl gen: makes a mask or segment ids from one step, or the mask of a layer of a model.
#include <fmt/format.h>

#include <filesystem>
#include <span>
#include <variant>

#include "app/cli/commands/command.h"
#include "app/cli/commands/model_config.h"
#include "app/cli/drawn.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/session/loader.h"
#include "app/session/save.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/pipeline/steps/generate.h"
#include "maskctl/translate/models/hf_config.h"

namespace maskctl::app {

namespace {

struct GenOptions {
  SourceOptions source;
  std::string step;  // a step; with --config only the size, such as "n=4096"
  ModelConfigOptions config;
  std::string layer;  // layer of the config: "5" or "decoder:5"
  OutputOptions output;
};

void declare(OptionList& list, GenOptions& gen) {
  list.operand("STEP", gen.step);
  declare_config(list, gen.config,
                 "the mask of a layer of this Hugging Face config.json; STEP is then the size, as "
                 "in n=4096");
  list.text("--layer", "N", "which layer, from 0 on; encoder:N, decoder:N, cross:N", gen.layer);
  declare_transforms(list, gen.source);
  declare_output(list, gen.output);
}

/// The steps of the config's layer that --layer names: "5" or "decoder:5".
Chain layer_chain(const GenOptions& options, Session& session) {
  const HfConfig config = load_hf_config(options.config.file, {options.config.assume_causal});
  for (const std::string& text : config.notes) session.note(text);
  const std::size_t colon = options.layer.find(':');
  const std::string part = colon == std::string::npos ? "" : options.layer.substr(0, colon);
  std::vector<HfLayer> layers;
  for (const HfLayer& layer : config.layers) {
    if (layer.part == part) layers.push_back(layer);
  }
  if (layers.empty()) {
    throw Error(
        Errc::kInvalidArgument,
        fmt::format("--layer {}: expected encoder:N, decoder:N or cross:N for {}, and N for "
                    "models of one stack",
                    options.layer, config.model_type));
  }
  const Index at = parse_integer(options.layer.substr(colon == std::string::npos ? 0 : colon + 1),
                                 "--layer", 0, static_cast<Index>(layers.size()) - 1);
  const HfLayer& layer = layers[static_cast<std::size_t>(at)];
  if (!layer.has_mask) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("layer {} is {}: it has no mask, or an unknown one", at, layer.type));
  }
  return chain_of(layer);
}

/// Refuses the name of a file, which the grammar of steps would refuse for its dot.
void check_step(const std::string& step) {
  std::error_code failed;
  if (!std::filesystem::exists(step, failed)) return;
  throw Error(Errc::kInvalidArgument,
              fmt::format("gen: {} is a file; gen makes a mask from a step, as in causal:n=16, and "
                          "show draws that of a file",
                          printable(step)));
}

/// Writes the file of a mask: the step, those of the layer, and those of -t.
void write_file(const GenOptions& options, const std::string& step, const Chain& layer,
                Loader& loader, Session& session) {
  const std::string source = "gen:" + step;
  MaskSteps steps = steps_of(loader, source, loader.read(source).mask);
  steps.chain.insert(steps.chain.end() - std::ssize(loader.chain()), layer.begin(), layer.end());
  write_steps(options.output, steps, mask_write_options(options.output, session), session);
}

Answer run(const GenOptions& options, Session& session) {
  check_step(options.step);
  const bool draws = options.output == OutputOptions{};
  check_config(options.config);
  const bool layered = !options.config.file.empty();
  if (layered != !options.layer.empty()) {
    throw Error(Errc::kInvalidArgument, "gen: --hf-config FILE and --layer N go together");
  }
  Loader loader(options.source, session);
  const std::string step = layered ? "full:" + options.step : options.step;
  Generated made = generate(step, loader.context());
  if (!draws) require_output(options.output, "gen", {&loader});
  const Chain layer = layered ? layer_chain(options, session) : Chain{};
  if (options.output.form == OutputOptions::Form::kMask) {
    write_file(options, step, layer, loader, session);
    return {};
  }
  if (layered) made = apply(std::get<Mask>(std::move(made)), std::span<const Step>(layer));
  const auto* ids = std::get_if<Tensor>(&made);
  if (ids && options.source.transforms.empty() && !draws) {
    write_output(*ids, options.output, session);
    return {};
  }
  const Mask mask = loader.transformed(ids ? mask_from_segments(*ids, *ids, options.source.pad_id)
                                           : std::get<Mask>(std::move(made)));
  if (!draws) {
    write_output(mask, options.output, session);
    return {};
  }
  SegmentTensors along;
  if (ids && options.source.transforms.empty()) along = {*ids, *ids};
  return {drawn(mask, with_pipeline("gen:" + step, options.source), along, session)};
}

}  // namespace

extern const Command kGen = command<GenOptions, declare, run>({
    .name = "gen",
    .group = kChange,
    .operands = "STEP",
    .summary = "make a mask or segment ids from nothing; without -o, draw it",
    .examples = "  maskctl gen causal:n=16\n"
                "  maskctl gen causal:n=1024 -o causal.npy\n"
                "  maskctl gen window:keys=256,align=bottom-right,q=1,k=1000\n"
                "  maskctl gen segments:n=4096,docs=7,seed=1 -o seg.npy\n"
                "  maskctl gen full:n=512 -t doc:lens=300+212 -t causal -o -\n"
                "  maskctl gen --hf-config config.json --layer 5 n=4096 -o layer5.npy\n",
});

}  // namespace maskctl::app
