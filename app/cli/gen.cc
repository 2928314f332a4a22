// maskctl gen: masks and segment ids from one step.
#include <variant>

#include "app/cli/commands.h"
#include "app/cli/load.h"
#include "app/cli/output.h"
#include "maskctl/mask/dense.h"
#include "maskctl/pipeline/generate.h"

namespace maskctl::app {

void gen(const GenOptions& options, const GlobalOptions& globals) {
  require_output(options.output, "gen");
  Loader loader(options.source, globals);
  Generated made = generate(options.step, loader.context());
  const auto* ids = std::get_if<Tensor>(&made);
  if (ids && options.source.transforms.empty()) {
    write_output(*ids, options.output);
    return;
  }
  Mask mask =
      ids ? mask_from_segments(*ids, *ids, options.source.pad_id) : std::get<Mask>(std::move(made));
  write_output(loader.transformed(std::move(mask)), options.output, globals);
}

}  // namespace maskctl::app
