// maskctl combine: combines two or more masks into one.
#include <fmt/format.h>

#include <algorithm>

#include "app/cli/commands/command.h"
#include "app/cli/parser/groups.h"
#include "app/session/loader.h"
#include "app/session/named_sources.h"
#include "app/session/save.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/dense.h"

namespace maskctl::app {
namespace {

struct CombineOptions {
  SourceOptions source;
  std::vector<std::string> names;
  OtherSource other;  // how to read all SOURCEs but the first
  std::optional<Op> op;
  OutputOptions output;
};

void declare(OptionList& list, CombineOptions& combine) {
  list.operands("SOURCE", combine.names);
  static constexpr std::string_view kOps[] = {"and", "or", "xor", "sub"};
  list.choice("--op", kOps, "sub: open in the first, closed in the others",
              [&combine](std::size_t i) { combine.op = static_cast<Op>(i); });
  declare_source(list, combine.source);
  combine.other.declare(list);
  declare_output(list, combine.output);
}

Answer run(const CombineOptions& options, Session& session) {
  const std::vector<std::string> names = all_named(options.names, session);
  if (!options.op) {
    throw Error(Errc::kInvalidArgument, "combine: --op is missing; give and, or, xor or sub");
  }
  if (names.size() < 2) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("combine: two or more SOURCEs are needed, got {}", names.size()));
  }
  // The other SOURCEs are read without the steps of -t, which apply to the combined mask.
  SourceOptions result = options.source;
  result.transforms.clear();
  const SourceOptions how_others = options.other.after(result);
  Loader loader(options.source, session), others(how_others, session);
  require_output(options.output, "combine", {&loader, &others});
  LoadedMask first = loader.read(names.front());
  Mask mask = std::move(first.mask);
  Index rank = first.rank;
  for (std::size_t i = 1; i < names.size(); ++i) {
    LoadedMask read = others.read(names[i]);
    rank = std::max(rank, read.rank);
    Mask next = others.transformed(std::move(read.mask));
    if (mask.queries() == 1) mask = repeated_queries(mask, next.queries());
    if (next.queries() == 1) next = repeated_queries(next, mask.queries());
    try {
      mask = zip(*options.op, mask, next);
    } catch (const Error& error) {
      throw error.within(names[i]);
    }
  }
  write_output(loader.transformed(std::move(mask)), options.output, session, rank);
  return {};
}

}  // namespace

extern const Command kCombine = command<CombineOptions, declare, run>({
    .name = "combine",
    .group = kChange,
    .operands = "SOURCE SOURCE...",
    .summary = "join masks by and, or, xor or sub",
    .examples = "  maskctl combine --op and causal.npy doc.npy -o both.npy\n"
                "  maskctl combine --op sub have.npy want.npy -o extra.npy\n",
});

}  // namespace maskctl::app
