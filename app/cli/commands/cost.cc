// maskctl cost: estimates the FLOPs, memory and balance of attention with a mask.
#include "maskctl/inspect/count/cost.h"

#include <fmt/format.h>

#include "app/cli/commands/command.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/reports/report.h"
#include "app/reports/shared_order.h"
#include "app/session/loader.h"
#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/phases/shared_order.h"

namespace maskctl::app {
namespace {

struct CostOptions {
  SourceOptions source;
  std::string name;
  CostQuery query;
  bool blocks_given = false;
  std::vector<std::string> beside;  // further masks of the same model
  std::vector<Index> layers;        // that apply each mask, SOURCE first
  bool json = false;
};

void declare(OptionList& list, CostOptions& cost) {
  CostQuery& query = cost.query;
  list.operand("SOURCE", cost.name);
  declare_source(list, cost.source);
  list.value("--block", "QxK+QxK", "tile sizes to count, 64 = 64x64 (16+32+64+128+256+512)",
             [&cost](const std::string& text) {
               cost.query.blocks = parse_blocks(text, "--block");
               cost.blocks_given = true;
             });
  list.integer("--heads", 1, "heads that share a mask of one head (those of the mask)",
               [&query](Index n) { query.heads = n; });
  list.integer("--head-dim", 1, "numbers in a query, key or value (128)",
               [&query](Index n) { query.head_dim = n; });
  list.integer("--ranks", 1, "devices that share the queries (8)",
               [&query](Index n) { query.ranks = n; });
  list.repeated("--beside", "SOURCE", "another mask of the model, whose ranks have the same tokens",
                cost.beside);
  list.value("--layers", "N+N", "layers that apply SOURCE and each --beside (1 each)",
             [&cost](const std::string& text) {
               for (const std::string& one : parse_list(text)) {
                 cost.layers.push_back(parse_integer(one, "--layers", 1, 10000));
               }
             });
  list.json("maskctl.cost/1", cost.json);
}

/// The balance of all masks together; nothing for one mask.
std::vector<SharedOrder> shared_by(const CostOptions& options, const CostQuery& query,
                                   const Mask& mask, const Cost& figures, Loader& loader) {
  const std::size_t count = options.beside.size() + 1;
  if (!options.layers.empty() && (count == 1 || options.layers.size() != count)) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("--layers has {}, for {}: give one for SOURCE and each --beside",
                            counted(std::ssize(options.layers), "number"),
                            counted(static_cast<Index>(count), "mask")));
  }
  if (count == 1) return {};
  const auto layers = [&](std::size_t i) { return options.layers.empty() ? 1 : options.layers[i]; };
  std::vector<MaskOfLayers> masks{{figures.balance, layers(0)}};
  for (const std::string& name : options.beside) {
    const Mask other = loader.transformed(loader.read(name).mask);
    if (other.queries() != mask.queries()) {
      throw Error(Errc::kShape, fmt::format("{}: {} queries beside {}: expected the same tokens",
                                            name, other.queries(), mask.queries()));
    }
    masks.push_back({mask_cost(other, query).balance, layers(masks.size())});
  }
  return shared_orders(masks);
}

Answer run(const CostOptions& options, Session& session) {
  Loader loader(options.source, session);
  const Mask mask = loader.transformed(loader.read(options.name).mask);
  CostQuery query = options.query;
  if (!options.blocks_given) drop_larger_blocks(query.blocks, mask);
  const Cost figures = mask_cost(mask, query);
  const std::vector<SharedOrder> shared = shared_by(options, query, mask, figures, loader);
  return answer_in(
      options.json, [&] { return cost_text(mask, figures) + shared_text(shared); },
      [=] {
        Json out = cost_json(options.name, mask, figures);
        out["shared"] = shared_json(shared);
        return out;
      });
}

}  // namespace

extern const Command kCost = command<CostOptions, declare, run>({
    .name = "cost",
    .group = kAsk,
    .operands = "SOURCE",
    .summary = "what attention under a mask costs: FLOPs, tiles, bytes, balance of ranks",
    .examples =
        "  maskctl cost seg.npy --as segments -t causal --heads 32 --head-dim 128\n"
        "  maskctl cost gen:causal:n=131072 -t window:keys=4096 --block 64+128+256 --ranks 16\n"
        "  maskctl cost gen:causal:n=8192 --beside gen:window:keys=512,n=8192 --layers 1+5\n",
});

}  // namespace maskctl::app
