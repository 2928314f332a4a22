#include "app/session/documents.h"

#include <fmt/format.h>

#include "maskctl/base/error.h"

namespace maskctl::app {
namespace {

/// Reads segment ids: one array for both axes, or the arrays "q" and "kv" of a container.
DocumentSource read_segments(const std::string& source, Loader& loader) {
  LoadedMask loaded = loader.read_segments(source);
  if (!loaded.q_segment_ids) {
    throw Error(Errc::kInvalidArgument, fmt::format("{}: no segment ids", source));
  }
  return {DocumentForm::kSegments, std::move(*loaded.q_segment_ids),
          std::move(loaded.kv_segment_ids), loader.pad_id(), source};
}

DocumentSource read_declared(DocumentForm form, const std::string& source, Loader& loader) {
  if (form == DocumentForm::kSegments) return read_segments(source, loader);
  const auto two = two_sources(source);
  DocumentSource out{form, loader.array(two ? two->q : source), {}, -1, source};
  if (two) out.kv = loader.array(two->kv);
  return out;
}

}  // namespace

std::optional<DocumentSource> read_documents(const DocumentOptions& options, Loader& loader) {
  std::optional<DocumentSource> out;
  if (options.form) out = read_declared(*options.form, options.source, loader);
  if (options.padding.empty()) return out;
  if (!out) out = DocumentSource{.text = options.padding};
  const auto two = two_sources(options.padding);
  out->real = loader.array(two ? two->q : options.padding);
  if (two) out->kv_real = loader.array(two->kv);
  out->real_text = options.padding;
  return out;
}

std::optional<GivenPositions> positions_in(const std::optional<DocumentSource>& given) {
  if (!given || given->form != DocumentForm::kPositions || given->q.elements() == 0) {
    return std::nullopt;
  }
  const auto two = two_sources(given->text);
  return GivenPositions{{given->q, two ? two->q : given->text},
                        {given->kv.value_or(given->q), two ? two->kv : given->text}};
}

std::vector<DocumentSource> read_also(const DocumentOptions& options, Loader& loader) {
  std::vector<DocumentSource> out;
  for (const auto& [form, source] : options.also) {
    out.push_back(read_declared(form, source, loader));
  }
  return out;
}

std::optional<Documents> own_documents(const LoadedMask& loaded, const Mask& mask,
                                       std::int32_t pad_id) {
  if (!loaded.q_segment_ids || !loaded.kv_segment_ids) return std::nullopt;
  Documents out{*loaded.q_segment_ids, *loaded.kv_segment_ids,
                loaded.kind == ArrayKind::kSegments ? pad_id : -1};
  return fits(out, mask) && loaded.mask.batch() == mask.batch() ? std::optional(std::move(out))
                                                                : std::nullopt;
}

std::optional<Documents> documents_for(const std::optional<DocumentSource>& given,
                                       const LoadedMask& loaded, const Mask& mask,
                                       std::int32_t pad_id) {
  return given ? documents_of(*given, mask) : own_documents(loaded, mask, pad_id);
}

std::optional<Leaks> leaks_given(const Mask& mask, const DocumentOptions& options, Loader& loader) {
  const auto given = read_documents(options, loader);
  return given ? std::optional(leaks(mask, documents_of(*given, mask))) : std::nullopt;
}

Mask with_batches_of(const Mask& mask, const Documents& documents) {
  const Index batch = std::max(documents.q.extent(0), documents.kv.extent(0));
  if (mask.batch() != 1 || batch == 1) return mask;
  return mask.map_batch(batch, [](Index, const PlanePtr& plane) { return plane; });
}

}  // namespace maskctl::app
