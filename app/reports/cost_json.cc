// The JSON form of cost.
#include "app/reports/json_parts.h"
#include "app/reports/report.h"

namespace maskctl::app {
namespace {

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json json_of(const Spread& spread) {
  Json out{{"min", spread.min}, {"mean", spread.mean}, {"max", spread.max}};
  for (std::size_t i = 0; i < kQuantiles.size(); ++i) {
    out["quantiles"].push_back({{"p", kQuantiles[i]}, {"value", spread.quantiles[i]}});
  }
  return out;
}

Json json_of(const Flops& flops) {
  return {{"forward", flops.forward}, {"backward", flops.backward}};
}

Json json_of(const BlockCost& block) {
  return {{"q", block.tiles.size.q},       {"k", block.tiles.size.k},
          {"empty", block.tiles.empty},    {"partial", block.tiles.partial},
          {"full", block.tiles.full},      {"executed", block.tiles.executed},
          {"waste", or_null(block.waste)}, {"flops", json_of(block.executed)},
          {"weighted", block.weighted},    {"map_bytes", block.map_bytes}};
}

Json json_of(const FormBytes& form) {
  return {{"form", form.form},
          {"bytes", or_null(form.bytes)},
          {"with_causal", form.with_causal && form.bytes}};
}

Json json_of(const Balance& balance) {
  return {{"split", name(balance.split)},
          {"imbalance", or_null(balance.imbalance)},
          {"pairs", balance.pairs}};
}

template <typename T>
Json list(const std::vector<T>& values) {
  Json out = Json::array();
  for (const T& value : values) out.push_back(json_of(value));
  return out;
}

}  // namespace

Json cost_json(std::string_view source, const Mask& mask, const Cost& cost) {
  Json out{{"schema", "maskctl.cost/1"},
           {"source", source},
           {"shape", extents(mask)},
           {"heads", cost.heads},
           {"head_dim", cost.head_dim},
           {"pairs", cost.pairs},
           {"density", ratio(cost.pairs, cost.cells)},
           {"flops", json_of(cost.useful)},
           {"keys_per_row", json_of(cost.keys_per_row)},
           {"pairs_per_head", json_of(cost.pairs_per_head)},
           {"blocks", list(cost.blocks)},
           {"best_block", or_null(cost.best)},
           {"forms", list(cost.forms)},
           {"balance", list(cost.balance)}};
  out["planes"] = Json::array();
  for (const PlaneCost& plane : cost.planes) {
    out["planes"].push_back(
        {{"pairs", plane.pairs}, {"keys_per_row", json_of(plane.keys_per_row)}});
  }
  out["plane_of"] = plane_numbers(mask);
  return out;
}

}  // namespace maskctl::app
