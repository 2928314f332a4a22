// maskctl apply: a mask through a pipeline into a file.
#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/load.h"
#include "app/cli/output.h"
#include "maskctl/base/error.h"

namespace maskctl::app {

void apply(const ApplyOptions& options, const GlobalOptions& globals) {
  if (options.print && options.output.dest == "-") {
    throw Error(Errc::kInvalidArgument, "apply: --print and -o - both want standard output");
  }
  if (!options.print) require_output(options.output, "apply");
  Loader loader(options.source, globals);
  Mask mask = loader.read(options.name).mask;
  const Chain chain = loader.chain();
  if (!chain.empty()) mask = maskctl::apply(std::move(mask), chain);
  if (!options.output.dest.empty()) write_output(mask, options.output, globals);
  if (options.print) write_stdout(chain.empty() ? "" : to_text(chain) + "\n");
}

}  // namespace maskctl::app
