// maskctl stats: counts the open cells of a mask by row, column and tile.
#include "maskctl/inspect/count/stats.h"

#include "app/cli/commands/several.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/reports/report.h"
#include "app/session/documents.h"
#include "app/session/loader.h"

namespace maskctl::app {
namespace {

struct StatsOptions {
  SourceOptions source;
  std::vector<std::string> sources;
  std::vector<BlockSize> blocks;
  DocumentOptions documents;
  bool json = false;
};

void declare(OptionList& list, StatsOptions& stats) {
  list.operands("SOURCE", stats.sources);
  stats.blocks = {{64, 64}, {128, 128}};
  declare_source(list, stats.source);
  list.value("--block", "QxK+QxK", "tile sizes to count, 64 = 64x64 (64+128)",
             [&stats](const std::string& text) { stats.blocks = parse_blocks(text, "--block"); });
  declare_documents(list, stats.documents);
  list.json("maskctl.stats/1", stats.json);
}

Answer run(const StatsOptions& options, Session& session) {
  Loader loader(options.source, session);
  return answer_each(options.sources, options.source, options.json, session,
                     [&](const std::string& source) -> Answer {
                       const Mask mask = loader.transformed(loader.read(source).mask);
                       const Stats figures = mask_stats(mask, options.blocks);
                       const auto found = leaks_given(mask, options.documents, loader);
                       return answer_in(
                           options.json, [&] { return stats_text(mask, figures, found); },
                           [=] { return stats_json(source, mask, figures, found); });
                     });
}

}  // namespace

extern const Command kStats = command<StatsOptions, declare, run>({
    .name = "stats",
    .group = kLook,
    .operands = "SOURCE...",
    .summary = "count open cells, keys per row, empty rows and columns, tiles",
    .examples = "  maskctl stats mask.npy\n"
                "  maskctl stats seg.npy --as segments -t causal --block 64+128x64 --json\n",
});

}  // namespace maskctl::app
