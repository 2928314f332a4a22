// maskctl convert: writes a mask as another kind of array, exactly or with the loss counted.
#include <fmt/format.h>

#include <algorithm>

#include "app/cli/commands/command.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/cli/progress.h"
#include "app/reports/figures.h"
#include "app/session/loader.h"
#include "app/session/save.h"
#include "maskctl/base/error.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/text.h"

namespace maskctl::app {
namespace {

/// The options of `convert`, except --strict, which every command has. source.pad_id is used for
/// reading and for writing.
struct ConvertOptions {
  SourceOptions source;
  std::string name;
  std::optional<ArrayKind> to;                                     // absent: the kind of the SOURCE
  OutputOptions output;                                            // destination; `form` is unused
  std::optional<BlockSize> block;                                  // block size for --to blockmap
  enum class Fill { kDefault, kInf, kMin } fill = Fill::kDefault;  // closed cells of --to bias
  bool write_zero_as_keep = false;                   // --write-keep-value 0: write 0 for open
  PaddingTokens padding = PaddingTokens::kSegments;  // padding in the cu_seqlens of a batch
  bool roundtrip = false;
  bool lossy = false;  // write the nearest mask if the kind cannot represent this one
};

void declare(OptionList& list, ConvertOptions& convert) {
  list.operand("SOURCE", convert.name);
  declare_source(list, convert.source);
  declare_destination(list, convert.output,
                      "FILE.npy, FILE.npz:KEY, FILE.h5:/NAME, FILE.safetensors:NAME, or -");
  list.value("--to", "KIND", "what to write; absent: what was read",
             [&convert](const std::string& text) { convert.to = parse_kind(text, "--to", true); });
  list.value("--block", "QxK", "block of --to blockmap, flex, fa4 and bsr, queries x keys",
             [&convert](const std::string& text) { convert.block = parse_block(text, "--block"); });
  static constexpr std::string_view kFills[] = {"inf", "min"};
  list.choice("--fill", kFills, "closed cells of --to bias: -inf, or the smallest finite number",
              [&convert](std::size_t i) {
                convert.fill = i == 0 ? ConvertOptions::Fill::kInf : ConvertOptions::Fill::kMin;
              });
  static constexpr std::string_view kKeep[] = {"0", "1"};
  list.choice("--write-keep-value", kKeep, "the value that may attend in what is written (1)",
              [&convert](std::size_t i) { convert.write_zero_as_keep = i == 0; });
  static constexpr std::string_view kPadding[] = {"segments", "drop"};
  list.choice("--padding", kPadding,
              "tokens outside documents in the cu_seqlens of a batch: segments of their own, or "
              "left out",
              [&convert](std::size_t i) { convert.padding = static_cast<PaddingTokens>(i); });
  list.flag("--lossy", "write the nearest array if the kind cannot hold the mask", convert.lossy);
  list.flag("--roundtrip", "say whether the array holds the mask; exit 1 when cells changed",
            convert.roundtrip);
}

/// Returns the kind of array to write if --to is not given: that of the SOURCE, but segments for
/// positions, and dense for other kinds that cannot be written.
ArrayKind same_kind(const LoadedMask& loaded) {
  if (loaded.kind == ArrayKind::kPositions) return ArrayKind::kSegments;
  if (loaded.kind == ArrayKind::kMaskFile) return ArrayKind::kMaskFile;
  return is_writable(loaded.kind) ? loaded.kind : ArrayKind::kDense;
}

MaskWriteOptions write_options(const ConvertOptions& options, ArrayKind to, Session& session) {
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
  const bool blocks = to == ArrayKind::kBlockmap || lists_blocks(to);
  out.block = options.block || !blocks ? options.block : options.source.block;
  out.padding = options.padding;
  out.max_bytes = session.settings().max_bytes;
  out.force = options.output.force;
  out.append = options.output.append;
  out.replace_file = options.output.replace_file;
  out.gzip = options.output.gzip;
  return out;
}

/// A bias that closes with finite numbers is written with the least finite one unless --fill is
/// given: -inf would turn rows that are closed everywhere from weights into NaN.
void keep_fill(const ConvertOptions& options, const BiasSeen& seen, MaskWriteOptions& how,
               Session& session) {
  if (options.fill != ConvertOptions::Fill::kDefault || !seen.min) return;
  if (!seen.inf) {
    how.fill = BiasFill::kMin;
  } else {
    session.note("finite numbers and -inf close cells; -inf is written for both (--fill min)");
  }
}

std::string loss_text(Index lost, const ConvertedMask& converted) {
  const Index cells = converted.source.cells();
  return fmt::format("{} of {} ({})", grouped(lost), counted(cells, "cell"), percent(lost, cells));
}

/// Throws if the arrays do not represent the mask exactly, unless --lossy allows it.
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

Answer roundtrip_answer(const OutputOptions& output, const std::string& verdict, bool lossy,
                        const Session& session) {
  const bool data_on_stdout = output.dest == "-";
  if (data_on_stdout) session.note(verdict);
  return {data_on_stdout ? "" : verdict + "\n", lossy ? 1 : 0};
}

/// Writes the SOURCE with its steps, which hold any mask.
Answer convert_to_file(const ConvertOptions& options, const MaskWriteOptions& how, Loader& loader,
                       Mask mask, Session& session) {
  if (!options.output.dest.empty()) {
    write_steps(options.output, steps_of(loader, options.name, std::move(mask)), how, session);
  }
  if (!options.roundtrip) return {};
  return roundtrip_answer(options.output, "mask: lossless: a round trip changes no cell", false,
                          session);
}

Answer run(const ConvertOptions& options, Session& session) {
  Loader loader(options.source, session);
  if (!options.roundtrip) require_output(options.output, "convert", {&loader});
  LoadedMask loaded = loader.read(options.name);
  const ArrayKind to = options.to.value_or(same_kind(loaded));
  MaskWriteOptions how = write_options(options, to, session);
  if (to == ArrayKind::kMaskFile) {
    return convert_to_file(options, how, loader, std::move(loaded.mask), session);
  }
  if (to == ArrayKind::kBias) keep_fill(options, loaded.bias_seen, how, session);
  how.rank = loaded.rank;
  if (loaded.blocks && !how.block && lists_blocks(to)) how.block = loaded.blocks->size;
  ConvertedMask converted = converted_mask(loader, std::move(loaded), how);
  const bool may_lose = options.lossy && !session.settings().strict;
  if (!options.roundtrip && !may_lose) check_loss(converted, options, session.settings().strict);
  if (!options.output.dest.empty() && (may_lose || converted.lost == 0)) {
    note_replaced(options.output, session);
    how.progress = session.progress("writing");
    write_converted(options.output.dest, converted, how, session);
    if (converted.needs_shape) session.note(reading_back(converted));
    for (const std::string& text : converted.notes) session.note(text);
  }
  const bool lossy = converted.changed > 0;
  if (options.roundtrip) {
    const std::string verdict =
        fmt::format("{}: {}", name(to),
                    lossy ? "lossy: a round trip changes " + loss_text(converted.changed, converted)
                          : "lossless: a round trip changes no cell");
    return roundtrip_answer(options.output, verdict, lossy, session);
  }
  if (converted.lost > 0) {
    session.note(fmt::format("{} cannot hold this mask: {} changed", name(to),
                             loss_text(converted.lost, converted)));
  }
  return {};
}

}  // namespace

extern const Command kConvert = command<ConvertOptions, declare, run>({
    .name = "convert",
    .group = kChange,
    .operands = "SOURCE",
    .summary = "write a mask in another form, exactly or with the loss counted",
    .examples = "  maskctl convert seg.npy --as segments --to cu_seqlens -o cu.npz\n"
                "  maskctl convert mask.npy --to blockmap --block 128 -o map.npz\n"
                "  maskctl convert mask.npy --to bias --dtype float16 --fill min -o bias.npy\n"
                "  maskctl convert mask.npy --to segments --roundtrip -o seg.npy\n",
    .negative = "--roundtrip finds a loss",
});

}  // namespace maskctl::app
