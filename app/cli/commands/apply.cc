// maskctl apply: applies a pipeline to a mask and writes the result to a file.
#include <fmt/format.h>

#include "app/cli/commands/command.h"
#include "app/cli/commands/ejkernel.h"
#include "app/cli/parser/groups.h"
#include "app/session/loader.h"
#include "app/session/save.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/pipeline/load.h"

namespace maskctl::app {
namespace {

struct ApplyOptions {
  SourceOptions source;
  std::string name;
  OutputOptions output;
  bool print = false;
};

void declare(OptionList& list, ApplyOptions& apply) {
  list.operand("SOURCE", apply.name);
  declare_source(list, apply.source);
  declare_semantics(list, apply.source);
  declare_output(list, apply.output, true);
  list.flag("--print", "print the pipeline in canonical form", apply.print);
}

/// The steps of all -t options as one pipeline, each step in its canonical spelling.
std::string pipeline_as_understood(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) {
    if (is_blank(text)) continue;
    out += (out.empty() ? "" : " | ") + print(parse(pipeline_text(text)));
  }
  return out;
}

/// The output of `apply --print`.
Answer printed(const ApplyOptions& options) {
  if (!options.print || options.source.transforms.empty()) return {};
  return {pipeline_as_understood(options.source.transforms) + "\n"};
}

Answer run(const ApplyOptions& options, Session& session) {
  if (options.print && options.output.dest == "-") {
    throw Error(Errc::kInvalidArgument, "apply: --print and -o - both use standard output");
  }
  Loader loader(options.source, session);
  if (!options.print) require_output(options.output, "apply", {&loader});
  if (options.source.ejkernel) {
    ejkernel::apply(loader, options.name, options.output, session);
    return printed(options);
  }
  LoadedMask loaded = loader.read(options.name);
  const Chain chain = loader.chain();
  if (!chain.empty()) loaded.mask = maskctl::apply(std::move(loaded.mask), chain);
  if (!options.output.dest.empty()) {
    write_output(loaded.mask, options.output, session, loaded.rank);
  }
  return {options.print && !chain.empty() ? printable(to_text(chain), kUncut) + "\n" : ""};
}

}  // namespace

extern const Command kApply = command<ApplyOptions, declare, run>({
    .name = "apply",
    .group = kChange,
    .operands = "SOURCE",
    .summary = "run a pipeline on a mask and write the result",
    .examples = "  maskctl apply mask.npy -t causal -t window:keys=128 -o out.npy\n"
                "  maskctl apply seg.npy --as segments -t causal -o - --to runs | maskctl stats -\n"
                "  maskctl apply seg.npy --as segments --semantics ejkernel "
                "-t window:both=4,mode=decode,index=9 -o out.npy\n",
});

}  // namespace maskctl::app
