// maskctl convert: a mask as another kind of array, exactly or with the loss counted.
#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/load.h"
#include "app/cli/output.h"
#include "app/cli/progress.h"
#include "maskctl/base/error.h"

namespace maskctl::app {
namespace {

/// The kind of the source, where a mask can be written so.
Kind same_kind(const LoadedMask& loaded) {
  if (loaded.kind == Kind::kPositions) return Kind::kSegments;
  return is_writable(loaded.kind) ? loaded.kind : Kind::kDense;
}

MaskWriteOptions write_options(const ConvertOptions& options, Kind to,
                               const GlobalOptions& globals) {
  MaskWriteOptions out;
  out.kind = to;
  out.dtype = options.output.dtype;
  out.keep_value_is_zero = options.write_zero_as_keep;
  out.pad_id = options.source.pad_id;
  if (options.fill != ConvertOptions::Fill::kDefault && to != Kind::kBias) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("--fill is for --to bias, not for {}", name(to)));
  }
  if (options.fill == ConvertOptions::Fill::kMin) out.fill = BiasFill::kMin;
  const auto block = options.block || to != Kind::kBlockmap ? options.block : options.source.block;
  if (block) out.block = BlockExtent{block->q, block->k};
  out.max_bytes = globals.max_bytes;
  out.force = options.output.force;
  out.append = options.output.append;
  out.gzip = options.output.gzip;
  return out;
}

std::string loss_text(const ConvertedMask& converted) {
  const Index cells = converted.source.cells();
  return fmt::format("{} of {} cells ({})", converted.changed, cells,
                     percent(converted.changed, cells));
}

/// On stdout, unless the data goes there.
void print_verdict(const std::string& text, const OutputOptions& output,
                   const GlobalOptions& globals) {
  if (output.dest == "-") {
    note(text, globals);
  } else {
    write_stdout(text + "\n");
  }
}

}  // namespace

int convert(const ConvertOptions& options, const GlobalOptions& globals) {
  if (!options.roundtrip) require_output(options.output, "convert");
  Loader loader(options.source, globals);
  LoadedMask loaded = loader.read(options.name);
  const Kind to = options.to.value_or(same_kind(loaded));
  MaskWriteOptions how = write_options(options, to, globals);
  const ConvertedMask converted = convert_mask(loader.transformed(std::move(loaded.mask)), how);
  const bool lossy = converted.changed > 0;
  if (lossy && globals.strict) {
    throw Error(Errc::kInvalidArgument, fmt::format("{}: as {} {} would change; nothing is written "
                                                    "with --strict",
                                                    options.name, name(to), loss_text(converted)));
  }
  if (!options.output.dest.empty()) {
    ProgressLine progress("writing", globals);
    how.progress = progress.callback();
    write_mask(options.output.dest, converted, how);
    for (const std::string& text : converted.notes) note(text, globals);
  }
  if (options.roundtrip) {
    const std::string verdict = lossy ? "lossy: a round trip changes " + loss_text(converted)
                                      : "lossless: a round trip changes no cell";
    print_verdict(fmt::format("{}: {}", name(to), verdict), options.output, globals);
    return lossy ? 1 : 0;
  }
  if (lossy) {
    note(fmt::format("{} cannot hold this mask: {} changed", name(to), loss_text(converted)),
         globals);
  }
  return 0;
}

}  // namespace maskctl::app
