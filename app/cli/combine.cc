// maskctl combine: combines two or more masks into one.
#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/load.h"
#include "app/cli/output.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/dense.h"

namespace maskctl::app {

void combine(const CombineOptions& options, const GlobalOptions& globals) {
  if (!options.op) {
    throw Error(Errc::kInvalidArgument, "combine: --op is missing; give and, or, xor or sub");
  }
  if (options.names.size() < 2) {
    throw Error(
        Errc::kInvalidArgument,
        fmt::format("combine: two or more SOURCEs are needed, got {}", options.names.size()));
  }
  require_output(options.output, "combine");
  Loader loader(options.source, globals);
  Mask mask = loader.read(options.names.front()).mask;
  for (std::size_t i = 1; i < options.names.size(); ++i) {
    Mask next = loader.read(options.names[i]).mask;
    if (mask.queries() == 1) mask = repeated_queries(mask, next.queries());
    if (next.queries() == 1) next = repeated_queries(next, mask.queries());
    try {
      mask = zip(*options.op, mask, next);
    } catch (const Error& error) {
      throw error.within(options.names[i]);
    }
  }
  write_output(loader.transformed(std::move(mask)), options.output, globals);
}

}  // namespace maskctl::app
