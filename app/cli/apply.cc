// maskctl apply: a mask through a pipeline into a file.
#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/load.h"
#include "app/cli/output.h"
#include "maskctl/base/error.h"
#include "maskctl/io/masks/mask_info_io.h"
#include "maskctl/pipeline/load.h"

namespace maskctl::app {
namespace {

/// The steps of all -t options, in the canonical spelling.
std::string pipeline_as_understood(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) {
    if (is_blank(text)) continue;
    out += (out.empty() ? "" : " | ") + print(parse(pipeline_text(text)));
  }
  return out;
}

void write_mask_array(const MaskArray& array, OutputOptions output, const GlobalOptions& globals) {
  if (output.form == OutputOptions::Form::kRuns) {
    write_output(array.mask(), output, globals);
  } else if (array.lazy() && array.rank() == 4) {
    output.dtype = array.dtype();
    write_output(array.mask(), output, globals);
  } else {
    write_output(array.tensor(globals.max_bytes), output);
  }
}

/// Applies the chain as calls of MaskInfo's methods.
void apply_as_ejkernel(const ApplyOptions& options, const GlobalOptions& globals) {
  Loader loader(options.source, globals);
  MaskInfo info = loader.transformed(loader.mask_info(options.name));
  const OutputOptions& output = options.output;
  if (output.form == OutputOptions::Form::kMaskInfo) {
    if (output.dtype) info = info.to_dtype(*output.dtype);
    write_mask_info(output.dest, info, write_options(output), globals.max_bytes);
  } else if (!output.dest.empty()) {
    const bool cast = output.dtype && output.form == OutputOptions::Form::kDense;
    write_mask_array(
        cast ? info.get_or_compute_attention_mask(*output.dtype) : info.attention_mask(), output,
        globals);
  }
  if (options.print && !options.source.transforms.empty()) {
    write_stdout(pipeline_as_understood(options.source.transforms) + "\n");
  }
}

}  // namespace

void apply(const ApplyOptions& options, const GlobalOptions& globals) {
  if (options.print && options.output.dest == "-") {
    throw Error(Errc::kInvalidArgument, "apply: --print and -o - both use standard output");
  }
  if (!options.print) require_output(options.output, "apply");
  if (options.source.ejkernel) {
    apply_as_ejkernel(options, globals);
    return;
  }
  Loader loader(options.source, globals);
  Mask mask = loader.read(options.name).mask;
  const Chain chain = loader.chain();
  if (!chain.empty()) mask = maskctl::apply(std::move(mask), chain);
  if (!options.output.dest.empty()) write_output(mask, options.output, globals);
  if (options.print) write_stdout(chain.empty() ? "" : to_text(chain) + "\n");
}

}  // namespace maskctl::app
