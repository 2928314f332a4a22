// maskctl convert: writes a mask as another kind of array, exactly or with the loss counted.
#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/load.h"
#include "app/cli/output.h"
#include "app/cli/progress.h"
#include "maskctl/base/error.h"

namespace maskctl::app {
namespace {

/// The kind of the source, if masks can be written as that kind.
ArrayKind same_kind(const LoadedMask& loaded) {
  if (loaded.kind == ArrayKind::kPositions) return ArrayKind::kSegments;
  return is_writable(loaded.kind) ? loaded.kind : ArrayKind::kDense;
}

MaskWriteOptions write_options(const ConvertOptions& options, ArrayKind to,
                               const GlobalOptions& globals) {
  MaskWriteOptions out;
  out.kind = to;
  out.dtype = options.output.dtype;
  out.keep_value_is_zero = options.write_zero_as_keep;
  out.pad_id = options.source.pad_id;
  if (options.fill != ConvertOptions::Fill::kDefault && to != ArrayKind::kBias) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("--fill is for --to bias, not for {}", name(to)));
  }
  if (options.fill == ConvertOptions::Fill::kMin) out.fill = BiasFill::kMin;
  out.block = options.block || to != ArrayKind::kBlockmap ? options.block : options.source.block;
  out.padding = options.padding;
  out.max_bytes = globals.max_bytes;
  out.force = options.output.force;
  out.append = options.output.append;
  out.gzip = options.output.gzip;
  return out;
}

std::string loss_text(Index lost, const ConvertedMask& converted) {
  const Index cells = converted.source.cells();
  return fmt::format("{} of {} cells ({})", lost, cells, percent(lost, cells));
}

/// Refuses to write arrays that do not mean the same mask, unless that was requested.
void check_loss(const ConvertedMask& converted, const ConvertOptions& options, bool strict) {
  const Index lost = strict ? converted.changed : converted.lost;
  if (lost == 0) return;
  throw Error(Errc::kInvalidArgument,
              fmt::format("{}: {} cannot hold this mask: {} would change; nothing is written {}",
                          options.name, name(converted.kind), loss_text(lost, converted),
                          strict ? "with --strict" : "without --lossy, which takes the nearest"));
}

ConvertedMask converted_mask(Loader& loader, LoadedMask loaded, const MaskWriteOptions& how) {
  const bool same_ids = how.kind == ArrayKind::kSegments && loaded.kind == ArrayKind::kSegments;
  if (same_ids && loader.chain().empty()) return kept_segments(loaded, how);
  return convert_mask(loader.transformed(std::move(loaded.mask)), how);
}

std::string reading_back(const ConvertedMask& converted) {
  const Mask& mask = converted.source;
  return fmt::format("reading it back needs --as {} --shape {}+{}+{}+{}", name(converted.kind),
                     mask.batch(), mask.heads(), mask.queries(), mask.keys());
}

/// Prints on stdout, unless the data goes there.
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
  const ArrayKind to = options.to.value_or(same_kind(loaded));
  MaskWriteOptions how = write_options(options, to, globals);
  const ConvertedMask converted = converted_mask(loader, std::move(loaded), how);
  const bool may_lose = options.lossy && !globals.strict;
  if (!options.roundtrip && !may_lose) check_loss(converted, options, globals.strict);
  if (!options.output.dest.empty() && (may_lose || converted.lost == 0)) {
    ProgressLine progress("writing", globals);
    how.progress = progress.callback();
    write_mask(options.output.dest, converted, how);
    if (converted.needs_shape) note(reading_back(converted), globals);
    for (const std::string& text : converted.notes) note(text, globals);
  }
  const bool lossy = converted.changed > 0;
  if (options.roundtrip) {
    const std::string verdict =
        lossy ? "lossy: a round trip changes " + loss_text(converted.changed, converted)
              : "lossless: a round trip changes no cell";
    print_verdict(fmt::format("{}: {}", name(to), verdict), options.output, globals);
    return lossy ? 1 : 0;
  }
  if (converted.lost > 0) {
    note(fmt::format("{} cannot hold this mask: {} changed", name(to),
                     loss_text(converted.lost, converted)),
         globals);
  }
  return 0;
}

}  // namespace maskctl::app
