#include "app/session/checked.h"

#include <utility>

#include "maskctl/mask/arrays/array_kinds.h"
#include "maskctl/mask/arrays/dense.h"

namespace maskctl::app {
namespace {

CheckedSource from_positions(DocumentSource own) {
  CheckedSource out;
  const Tensor q = documents_from_positions(own.q);
  const Tensor kv = own.kv ? documents_from_positions(*own.kv) : q;
  out.loaded.mask = mask_from_segments(q, kv, -1);
  out.loaded.q_segment_ids = q;
  out.loaded.kv_segment_ids = kv;
  out.checked.start = out.loaded.mask;
  out.checked.own_documents = std::move(own);
  return out;
}

CheckedSource from_cu_seqlens(DocumentSource own, const Loader& loader) {
  const auto extent = [&shape = loader.source().shape](std::size_t axis) {
    return shape ? std::optional((*shape)[axis]) : std::nullopt;
  };
  CheckedSource out;
  out.checked.own_tokens = extent(2);
  out.checked.own_keys = extent(3);
  out.checked.own_documents = own;
  if (!makes_documents(own, extent(2), extent(3))) return out;
  out.loaded.mask = mask_from_cu_seqlens(own.q, own.kv.value_or(own.q), extent(2), extent(3));
  out.checked.start = out.loaded.mask;
  out.checked.own_tokens = out.loaded.mask.queries();
  out.checked.own_keys = out.loaded.mask.keys();
  return out;
}

}  // namespace

CheckedSource read_checked(const std::string& name, Loader& loader, RowsSink rows_read) {
  const std::optional<ArrayKind> as = loader.source().as;
  if (as == ArrayKind::kPositions || as == ArrayKind::kCuSeqlens) {
    const bool positions = as == ArrayKind::kPositions;
    const auto two = loader.sides(name);
    DocumentSource own{positions ? DocumentForm::kPositions : DocumentForm::kCuSeqlens,
                       loader.array(two ? two->q : name),
                       {},
                       -1,
                       name};
    if (two) own.kv = loader.array(two->kv);
    CheckedSource out =
        positions ? from_positions(std::move(own)) : from_cu_seqlens(std::move(own), loader);
    out.loaded.kind = *as;
    return out;
  }
  CheckedSource out{loader.read(name, std::move(rows_read)), {}};
  LoadedMask& loaded = out.loaded;
  out.checked.start = loaded.mask;
  out.checked.reading = {loaded.odd_bools, loaded.bias_seen.inf, loaded.bias_seen.min,
                         loaded.facts};
  const bool padded =
      loaded.kind == ArrayKind::kPaddedLengths || loaded.kind == ArrayKind::kRaggedOffsets;
  if ((loaded.kind == ArrayKind::kSegments || padded) && loaded.q_segment_ids) {
    out.checked.own_documents =
        DocumentSource{DocumentForm::kSegments, *loaded.q_segment_ids, loaded.kv_segment_ids,
                       padded ? -1 : loader.pad_id(), name};
  }
  return out;
}

}  // namespace maskctl::app
