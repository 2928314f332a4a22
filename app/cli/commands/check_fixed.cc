#include "app/cli/commands/check_fixed.h"

#include <utility>

#include "app/session/save.h"
#include "maskctl/base/error.h"

namespace maskctl::app {
namespace {

/// The options that write a mask as the array that was read: its kind, rank, polarity and dtype.
MaskWriteOptions as_read(const CheckedMask& fixed, const LoadedMask& loaded,
                         const SourceOptions& how) {
  MaskWriteOptions out;
  out.kind = is_writable(loaded.kind) ? loaded.kind : ArrayKind::kDense;
  out.rank = loaded.rank;
  out.keep_value_is_zero = how.keep_value_is_zero;
  out.pad_id = how.pad_id;
  if (out.kind == ArrayKind::kDense || out.kind == ArrayKind::kBias) {
    out.dtype = dtype_from_name(loaded.dtype);
  }
  const ReadFacts& reading = fixed.reading;
  if (reading.min_closed && !reading.inf_closed) out.fill = BiasFill::kMin;
  if (loaded.blocks) out.block = loaded.blocks->size;
  if (!out.block && out.kind == ArrayKind::kBlockmap) out.block = how.block;
  return out;
}

ConvertedMask converted(const Mask& mask, MaskWriteOptions& as) {
  ConvertedMask out = convert_mask(mask, as);
  if (out.changed == 0) return out;
  as.kind = ArrayKind::kDense;
  as.dtype.reset();
  as.block.reset();
  return convert_mask(mask, as);
}

}  // namespace

FixedReport write_fixed(FixResult fixed, const LoadedMask& loaded, const SourceOptions& how,
                        const std::string& dest, bool force, Session& session) {
  FixedReport out{dest,
                  {},
                  std::move(fixed.done),
                  std::move(fixed.left),
                  std::move(fixed.gone),
                  std::move(fixed.not_looked_at)};
  if (out.done.empty()) return out;
  if (const auto& own = fixed.fixed.own_documents) {
    std::vector<ArrayRef> arrays{{"q", &own->q}};
    if (own->kv) arrays.push_back({"kv", &*own->kv});
    const WriteOptions options{.force = force};
    if (own->kv) {
      write_arrays(dest, arrays, options);
    } else {
      write_array(dest, own->q, options);
    }
    out.kind = loaded.kind;
    return out;
  }
  if (loaded.kind == ArrayKind::kBias && how.closed_below) {
    throw Error(Errc::kInvalidArgument,
                "check: --write-fixed would drop the numbers that a bias read with --closed-below "
                "adds to open cells");
  }
  MaskWriteOptions as = as_read(fixed.fixed, loaded, how);
  ConvertedMask arrays = converted(*fixed.fixed.start, as);
  as.max_bytes = session.settings().max_bytes;
  as.force = force;
  as.progress = session.progress("writing");
  write_converted(dest, arrays, as, session);
  out.kind = as.kind;
  out.other_kind = as.kind != loaded.kind;
  return out;
}

}  // namespace maskctl::app
