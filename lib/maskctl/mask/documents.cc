#include "maskctl/mask/documents.h"

#include <algorithm>
#include <vector>

#include "maskctl/mask/arrays/array_kinds.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/leaves.h"

namespace maskctl {
namespace {

std::vector<std::uint8_t> real_flags(std::span<const std::int32_t> ids, std::int32_t pad_id) {
  std::vector<std::uint8_t> flags(ids.size());
  std::ranges::transform(ids, flags.begin(), [pad_id](std::int32_t id) { return id != pad_id; });
  return flags;
}

bool holds_padding(const Tensor& ids, std::int32_t pad_id) {
  return std::ranges::find(ids.as<std::int32_t>(), pad_id) != ids.as<std::int32_t>().end();
}

/// A mask of one head whose plane of batch b is make(ids of batch b).
template <typename MakePlane>
Mask per_batch(const Tensor& ids, Index queries, Index keys, const MakePlane& make) {
  return Mask::make(ids.extent(0), 1, queries, keys,
                    [&](Index b, Index) { return make(ids_of_batch(ids, b)); });
}

}  // namespace

std::span<const std::int32_t> ids_of_batch(const Tensor& ids, Index batch) {
  const auto length = static_cast<std::size_t>(ids.extent(1));
  const Index b = ids.extent(0) == 1 ? 0 : batch;
  return ids.as<std::int32_t>().subspan(static_cast<std::size_t>(b) * length, length);
}

Mask real_queries(const Documents& documents, Index keys) {
  return per_batch(documents.q, documents.q.extent(1), keys,
                   [&](auto ids) { return query_flags(real_flags(ids, documents.pad_id), keys); });
}

Mask real_keys(const Documents& documents, Index queries) {
  return per_batch(documents.kv, queries, documents.kv.extent(1),
                   [&](auto ids) { return key_flags(queries, real_flags(ids, documents.pad_id)); });
}

Mask DocumentCells::leaks() const { return zip(Op::kSub, real, same); }
Mask DocumentCells::padding_queries() const { return zip(Op::kSub, open, real_query); }
Mask DocumentCells::padding_keys() const { return zip(Op::kSub, real_query, real); }
Mask DocumentCells::padding() const { return zip(Op::kSub, open, real); }

DocumentCells document_cells(const Mask& mask, const Documents& documents) {
  DocumentCells out{mask, mask, {}, {}};
  if (holds_padding(documents.q, documents.pad_id)) {
    out.real_query = zip(Op::kAnd, mask, real_queries(documents, mask.keys()));
  }
  out.real = out.real_query;
  if (holds_padding(documents.kv, documents.pad_id)) {
    out.real = zip(Op::kAnd, out.real, real_keys(documents, mask.queries()));
  }
  out.same = mask_from_segments(documents.q, documents.kv, documents.pad_id);
  return out;
}

}  // namespace maskctl
