#include "maskctl/inspect/leaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "maskctl/base/error.h"
#include "maskctl/inspect/row_safety.h"
#include "maskctl/inspect/stats_parts.h"
#include "maskctl/mask/array_kinds.h"
#include "maskctl/mask/bands.h"
#include "maskctl/mask/dense.h"
#include "maskctl/mask/leaves.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

constexpr Index kMostCounts = Index{1} << 20;  // of document pairs that are looked at

Tensor ids_of_segments(const Tensor& array) {
  if (array.rank() != 1 && array.rank() != 2) {
    throw Error(Errc::kShape, fmt::format("segment ids have the shape (S,) or (B, S), not {}",
                                          shape_text(array.shape())));
  }
  Tensor out(DType::kInt32,
             {array.rank() == 1 ? 1 : array.extent(0), array.extent(array.rank() - 1)});
  std::ranges::copy(as_int32(array, "segment ids"), out.as<std::int32_t>().begin());
  return out;
}

Tensor ids_of_cu_seqlens(const Tensor& array, Index tokens) {
  if (array.rank() != 1 || array.elements() == 0) {
    throw Error(Errc::kShape, fmt::format("cu_seqlens have the shape (N + 1,), not {}",
                                          shape_text(array.shape())));
  }
  const auto ends = as_int64(array, "cu_seqlens");
  if (ends.front() != 0 || !std::ranges::is_sorted(ends)) {
    throw Error(Errc::kInvalidArgument,
                "cu_seqlens start with 0 and never fall; maskctl check "
                "--cu-seqlens names the entry");
  }
  if (ends.back() > tokens) {
    throw Error(Errc::kShape, fmt::format("cu_seqlens end at {}, past the {} tokens of the mask",
                                          ends.back(), tokens));
  }
  Tensor out(DType::kInt32, {1, tokens});
  const auto ids = out.as<std::int32_t>();
  std::ranges::fill(ids, -1);
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    std::fill(ids.begin() + ends[i], ids.begin() + ends[i + 1], static_cast<std::int32_t>(i));
  }
  return out;
}

Tensor ids_of(const DocumentSource& source, const Tensor& array, Index tokens) {
  Tensor ids = source.form == DocumentForm::kSegments    ? ids_of_segments(array)
               : source.form == DocumentForm::kPositions ? documents_from_positions(array)
                                                         : ids_of_cu_seqlens(array, tokens);
  if (ids.extent(1) == tokens) return ids;
  throw Error(Errc::kShape, fmt::format("{} of {} tokens do not fit a mask of {}",
                                        name(source.form), ids.extent(1), tokens));
}

/// A plane for each batch of the ids.
template <typename MakePlane>
Mask per_batch(const Tensor& ids, Index queries, Index keys, const MakePlane& make) {
  return Mask::make(ids.extent(0), 1, queries, keys,
                    [&](Index b, Index) { return make(ids_of_batch(ids, b)); });
}

std::vector<std::uint8_t> real_flags(std::span<const std::int32_t> ids, std::int32_t pad_id) {
  std::vector<std::uint8_t> flags(ids.size());
  std::ranges::transform(ids, flags.begin(), [pad_id](std::int32_t id) { return id != pad_id; });
  return flags;
}

bool holds_padding(const Tensor& ids, std::int32_t pad_id) {
  return std::ranges::find(ids.as<std::int32_t>(), pad_id) != ids.as<std::int32_t>().end();
}

/// Where runs of equal ids begin, and the end.
std::vector<Index> borders(std::span<const std::int32_t> ids) {
  std::vector<Index> out;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i == 0 || ids[i] != ids[i - 1]) out.push_back(static_cast<Index>(i));
  }
  out.push_back(static_cast<Index>(ids.size()));
  return out;
}

/// Cells by pair of documents.
class PairCounts {
 public:
  /// Adds a plane of cross cells that `heads` heads share; false when there are too many pairs.
  bool add(Index batch, Index first_head, Index heads, const Plane& plane, const Documents& ids) {
    const auto q_ids = ids_of_batch(ids.q, batch), k_ids = ids_of_batch(ids.kv, batch);
    const std::vector<Index> rows = borders(q_ids), edges = borders(k_ids);
    const Range all_keys{0, plane.keys()};
    std::vector<Index> counts(edges.size() - 1);
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
      const Range q{rows[i], rows[i + 1]};
      if (plane.classify(q, all_keys) == Fill::kEmpty) continue;
      looked_at_ += static_cast<Index>(counts.size());
      if (looked_at_ > kMostCounts) return false;
      std::ranges::fill(counts, Index{0});
      plane.counts(q, edges, counts);
      for (std::size_t j = 0; j < counts.size(); ++j) {
        if (counts[j] == 0) continue;
        const Key key{batch, q_ids[static_cast<std::size_t>(q.begin)],
                      k_ids[static_cast<std::size_t>(edges[j])]};
        Entry& entry = entries_[key];
        if (entry.count == 0) entry = {0, first_head, q, {edges[j], edges[j + 1]}, &plane};
        entry.count += counts[j] * heads;
      }
    }
    return true;
  }

  std::vector<DocumentPair> pairs() const {
    std::vector<DocumentPair> out;
    for (const auto& [key, entry] : entries_) {
      const auto cell = first_cell(*entry.plane->sliced(entry.q, entry.k));
      out.push_back({key[0],
                     static_cast<std::int32_t>(key[1]),
                     static_cast<std::int32_t>(key[2]),
                     entry.count,
                     {key[0], entry.head, entry.q.begin + cell->query, entry.k.begin + cell->key}});
    }
    std::ranges::stable_sort(out, std::ranges::greater{}, &DocumentPair::count);
    return out;
  }

 private:
  using Key = std::array<Index, 3>;
  struct Entry {
    Index count = 0;
    Index head = 0;
    Range q, k;
    const Plane* plane = nullptr;
  };
  std::map<Key, Entry> entries_;
  Index looked_at_ = 0;
};

/// Each distinct plane of each batch once.
void count_pairs(const Mask& cross, const Documents& documents, Leaks& out) {
  PairCounts counts;
  for (Index b = 0; b < cross.batch() && out.pairs_complete; ++b) {
    std::map<std::uint32_t, std::pair<Index, Index>> heads;  // plane -> first head, how many
    for (Index h = 0; h < cross.heads(); ++h) {
      ++heads.try_emplace(cross.index_of(b, h), h, 0).first->second.second;
    }
    for (const auto& [plane, use] : heads) {
      if (!counts.add(b, use.first, use.second, *cross.distinct()[plane], documents)) {
        out.pairs_complete = false;
        break;
      }
    }
  }
  out.pairs = counts.pairs();
}

}  // namespace

std::string_view name(DocumentForm form) {
  switch (form) {
    case DocumentForm::kSegments:
      return "segment ids";
    case DocumentForm::kPositions:
      return "position ids";
    default:
      return "cu_seqlens";
  }
}

std::span<const std::int32_t> ids_of_batch(const Tensor& ids, Index batch) {
  const auto length = static_cast<std::size_t>(ids.extent(1));
  const Index b = ids.extent(0) == 1 ? 0 : batch;
  return ids.as<std::int32_t>().subspan(static_cast<std::size_t>(b) * length, length);
}

Documents documents_of(const DocumentSource& source, Index queries, Index keys) {
  Documents out;
  out.q = ids_of(source, source.q, queries);
  out.kv = ids_of(source, source.kv ? *source.kv : source.q, keys);
  out.pad_id = source.form == DocumentForm::kSegments ? source.pad_id : -1;
  return out;
}

Mask real_queries(const Documents& documents, Index keys) {
  return per_batch(documents.q, documents.q.extent(1), keys,
                   [&](auto ids) { return query_flags(real_flags(ids, documents.pad_id), keys); });
}

Mask real_keys(const Documents& documents, Index queries) {
  return per_batch(documents.kv, queries, documents.kv.extent(1),
                   [&](auto ids) { return key_flags(queries, real_flags(ids, documents.pad_id)); });
}

LeakMasks leak_masks(const Mask& mask, const Documents& documents) {
  LeakMasks out;
  out.real_query = holds_padding(documents.q, documents.pad_id)
                       ? zip(Op::kAnd, mask, real_queries(documents, mask.keys()))
                       : mask;
  out.real = holds_padding(documents.kv, documents.pad_id)
                 ? zip(Op::kAnd, out.real_query, real_keys(documents, mask.queries()))
                 : out.real_query;
  const Mask same = mask_from_segments(documents.q, documents.kv, documents.pad_id);
  out.cross = zip(Op::kSub, out.real, same);
  return out;
}

Leaks leaks(const Mask& mask, const Documents& documents) {
  const LeakMasks masks = leak_masks(mask, documents);
  const auto cells = [batch = masks.cross.batch()](const Mask& part) {
    return part.batch() == batch ? part.count() : part.count() * batch;  // of 1 batch for all
  };
  Leaks out;
  out.padding_queries = cells(mask) - cells(masks.real_query);
  out.padding_keys = cells(masks.real_query) - cells(masks.real);
  out.cross = masks.cross.count();
  if (out.cross == 0) return out;
  const Mask cross = masks.cross.map(readable);
  out.first = first_cell(cross);
  count_pairs(cross, documents, out);
  return out;
}

}  // namespace maskctl
