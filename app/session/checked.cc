#include "app/session/checked.h"

#include <utility>

#include "maskctl/mask/arrays/array_kinds.h"
#include "maskctl/mask/arrays/dense.h"

namespace maskctl::app {
namespace {

CheckedSource from_positions(const std::string& name, Tensor array) {
  CheckedSource out;
  const Tensor ids = documents_from_positions(array);
  out.loaded.mask = mask_from_segments(ids, ids, -1);
  out.loaded.q_segment_ids = out.loaded.kv_segment_ids = ids;
  out.checked.start = out.loaded.mask;
  out.checked.own_documents =
      DocumentSource{DocumentForm::kPositions, std::move(array), {}, -1, name};
  return out;
}

CheckedSource from_cu_seqlens(const std::string& name, Tensor array, const Loader& loader) {
  const auto extent = [&shape = loader.source().shape](std::size_t axis) {
    return shape ? std::optional((*shape)[axis]) : std::nullopt;
  };
  CheckedSource out;
  const DocumentSource own{DocumentForm::kCuSeqlens, std::move(array), {}, -1, name};
  out.checked.own_documents = own;
  out.checked.own_tokens = extent(2);
  if (!makes_documents(own, extent(2))) return out;
  out.loaded.mask = mask_from_cu_seqlens(own.q, own.q, extent(2), extent(3));
  out.checked.start = out.loaded.mask;
  out.checked.own_tokens = out.loaded.mask.queries();
  return out;
}

}  // namespace

CheckedSource read_checked(const std::string& name, Loader& loader, RowsSink rows_read) {
  const std::optional<ArrayKind> as = loader.source().as;
  const bool raw =
      !two_sources(name) && (as == ArrayKind::kPositions || as == ArrayKind::kCuSeqlens);
  if (raw) {
    Tensor array = loader.array(name);
    CheckedSource out = as == ArrayKind::kPositions
                            ? from_positions(name, std::move(array))
                            : from_cu_seqlens(name, std::move(array), loader);
    out.loaded.kind = *as;
    return out;
  }
  CheckedSource out{loader.read(name, std::move(rows_read)), {}};
  LoadedMask& loaded = out.loaded;
  out.checked.start = loaded.mask;
  out.checked.reading = {loaded.odd_bools, loaded.bias_seen.inf, loaded.bias_seen.min};
  if (loaded.kind == ArrayKind::kSegments && loaded.q_segment_ids) {
    out.checked.own_documents = DocumentSource{DocumentForm::kSegments, *loaded.q_segment_ids,
                                               loaded.kv_segment_ids, loader.pad_id(), name};
  }
  return out;
}

}  // namespace maskctl::app
