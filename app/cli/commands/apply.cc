// maskctl apply: a mask through a pipeline into a file.
#include <fmt/format.h>

#include "app/cli/commands/command.h"
#include "app/cli/parser/groups.h"
#include "app/session/loader.h"
#include "app/session/save.h"
#include "maskctl/base/error.h"
#include "maskctl/io/masks/mask_info_io.h"
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

/// The steps of all -t options, in the canonical spelling.
std::string pipeline_as_understood(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) {
    if (is_blank(text)) continue;
    out += (out.empty() ? "" : " | ") + print(parse(pipeline_text(text)));
  }
  return out;
}

void write_mask_array(const MaskArray& array, OutputOptions output, Session& session) {
  if (output.form == OutputOptions::Form::kRuns) {
    write_output(array.mask(), output, session);
  } else if (array.lazy() && array.rank() == 4) {
    output.dtype = array.dtype();
    write_output(array.mask(), output, session);
  } else {
    write_output(array.tensor(session.settings().max_bytes), output);
  }
}

/// Applies the chain as calls of MaskInfo's methods.
Answer apply_as_ejkernel(const ApplyOptions& options, Session& session) {
  Loader loader(options.source, session);
  MaskInfo info = loader.transformed(loader.mask_info(options.name));
  const OutputOptions& output = options.output;
  if (output.form == OutputOptions::Form::kMaskInfo) {
    if (output.dtype) info = info.to_dtype(*output.dtype);
    write_mask_info(output.dest, info, write_options(output), session.settings().max_bytes);
  } else if (output.form == OutputOptions::Form::kBias) {
    const Tensor bias =
        info.create_bias(output.dtype.value_or(DType::kFloat32), session.settings().max_bytes);
    write_array(output.dest, bias, write_options(output));
  } else if (!output.dest.empty()) {
    const bool cast = output.dtype && output.form == OutputOptions::Form::kDense;
    write_mask_array(
        cast ? info.get_or_compute_attention_mask(*output.dtype) : info.attention_mask(), output,
        session);
  }
  if (options.print && !options.source.transforms.empty()) {
    return {pipeline_as_understood(options.source.transforms) + "\n"};
  }
  return {};
}

Answer run(const ApplyOptions& options, Session& session) {
  if (options.print && options.output.dest == "-") {
    throw Error(Errc::kInvalidArgument, "apply: --print and -o - both use standard output");
  }
  if (!options.print) require_output(options.output, "apply");
  if (options.source.ejkernel) return apply_as_ejkernel(options, session);
  Loader loader(options.source, session);
  LoadedMask loaded = loader.read(options.name);
  const Chain chain = loader.chain();
  if (!chain.empty()) loaded.mask = maskctl::apply(std::move(loaded.mask), chain);
  if (!options.output.dest.empty()) {
    write_output(loaded.mask, options.output, session, loaded.rank);
  }
  return {options.print && !chain.empty() ? to_text(chain) + "\n" : ""};
}

}  // namespace

const Command kApply = command<ApplyOptions, declare, run>({
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
