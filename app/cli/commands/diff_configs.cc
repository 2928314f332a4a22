#include "app/cli/commands/diff_configs.h"

#include <fmt/format.h>

#include <filesystem>

#include "app/reports/json_value.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/translate/models/hf_config.h"

namespace maskctl::app {
namespace {

/// The steps of a layer's mask; nothing if they are not known.
std::optional<std::string> steps_of(const HfLayer& layer) {
  return layer.has_mask ? std::optional(to_text(chain_of(layer))) : std::nullopt;
}

std::string layer_text(const std::optional<HfLayer>& layer) {
  if (!layer) return "no such layer";
  const auto steps = steps_of(*layer);
  if (!steps) return fmt::format("{}, whose mask is not known", printable(layer->type));
  return steps->empty() ? "every cell open" : *steps;
}

Json layer_json(const std::optional<HfLayer>& layer) {
  if (!layer) return nullptr;
  const auto steps = steps_of(*layer);
  return {{"type", layer->type}, {"pipeline", steps ? Json(*steps) : Json(nullptr)}};
}

struct Side {
  const char* name;
  std::string source;
  HfConfig config;
};

std::string text_of(const Side& a, const Side& b, const std::vector<HfLayerDifference>& found) {
  std::string out;
  for (const Side* side : {&a, &b}) {
    out += fmt::format("{}       {}: {}, {}\n", side->name, printable(side->source),
                       printable(side->config.model_type),
                       counted(std::ssize(side->config.layers), "layer"));
  }
  for (const HfLayerDifference& one : found) {
    out += fmt::format("layers  {}\n  in A  {}\n  in B  {}\n", one.layers, layer_text(one.a),
                       layer_text(one.b));
  }
  if (found.empty()) out += "equal: each layer has the same mask in both\n";
  for (const Side* side : {&a, &b}) {
    for (const std::string& note : side->config.notes) {
      out += fmt::format("note    {}: {}\n", side->name, printable(note, kUncut));
    }
  }
  return out;
}

Json json_of(const Side& side) {
  return {{"source", side.source},
          {"model_type", side.config.model_type},
          {"layers", side.config.layers.size()},
          {"notes", side.config.notes}};
}

}  // namespace

bool is_config(const std::string& source) {
  const std::filesystem::path path(source);
  std::error_code ignored;
  return path.extension() == ".json" || std::filesystem::exists(path / "config.json", ignored);
}

Answer diff_configs(const std::string& a, const std::string& b, bool json) {
  const Side of_a{"A", a, load_hf_config(a)}, of_b{"B", b, load_hf_config(b)};
  const std::vector<HfLayerDifference> found = diff_layers(of_a.config, of_b.config);
  const auto make_json = [=] {
    Json out{{"schema", "maskctl.diff-configs/1"}, {"equal", found.empty()}};
    out["a"] = json_of(of_a);
    out["b"] = json_of(of_b);
    out["differences"] = Json::array();
    for (const HfLayerDifference& one : found) {
      out["differences"].push_back(
          {{"layers", one.layers}, {"in_a", layer_json(one.a)}, {"in_b", layer_json(one.b)}});
    }
    return out;
  };
  return answer_in(
      json, [&] { return text_of(of_a, of_b, found); }, make_json, found.empty() ? 0 : 1);
}

}  // namespace maskctl::app
