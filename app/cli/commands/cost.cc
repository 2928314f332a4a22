// maskctl cost: estimates the FLOPs, memory and balance of attention with a mask.
#include "maskctl/inspect/count/cost.h"

#include "app/cli/commands/command.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/reports/report.h"
#include "app/session/loader.h"

namespace maskctl::app {
namespace {

struct CostOptions {
  SourceOptions source;
  std::string name;
  CostQuery query;
  bool blocks_given = false;
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
  list.json("maskctl.cost/1", cost.json);
}

Answer run(const CostOptions& options, Session& session) {
  Loader loader(options.source, session);
  const Mask mask = loader.transformed(loader.read(options.name).mask);
  CostQuery query = options.query;
  if (!options.blocks_given) drop_larger_blocks(query.blocks, mask);
  const Cost figures = mask_cost(mask, query);
  return answer_in(
      options.json, [&] { return cost_text(mask, figures); },
      [=] { return cost_json(options.name, mask, figures); });
}

}  // namespace

extern const Command kCost = command<CostOptions, declare, run>({
    .name = "cost",
    .group = kAsk,
    .operands = "SOURCE",
    .summary = "what attention under a mask costs: FLOPs, tiles, bytes, balance of ranks",
    .examples =
        "  maskctl cost seg.npy --as segments -t causal --heads 32 --head-dim 128\n"
        "  maskctl cost gen:causal:n=131072 -t window:keys=4096 --block 64+128+256 --ranks 16\n",
});

}  // namespace maskctl::app
