#include "maskctl/inspect/check/leaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/inspect/count/row_safety.h"
#include "maskctl/mask/arrays/array_kinds.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

constexpr Index kMostCounts = Index{1} << 20;  // the most pairs of runs of ids to examine

Tensor ids_of_segments(const Tensor& array) {
  if (array.rank() != 1 && array.rank() != 2) {
    throw Error(Errc::kShape, fmt::format("segment ids have the shape (S,) or (B, S), not {}",
                                          shape_text(array.shape())));
  }
  Tensor out = int32_array(array, "segment ids");
  if (out.rank() == 1) out.reshape({1, out.extent(0)});
  return out;
}

Tensor ids_of_cu_seqlens(const Tensor& array, Index tokens) {
  if (array.rank() != 1 || array.elements() == 0) {
    throw Error(Errc::kShape, fmt::format("cu_seqlens have the shape (N + 1,), not {}",
                                          shape_text(array.shape())));
  }
  const auto ends = as_int64(array, "cu_seqlens");
  const auto wrong = ends.front() != 0 ? ends.begin() : std::ranges::is_sorted_until(ends);
  if (wrong != ends.end()) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("cu_seqlens start with 0 and never decrease, but entry {} is {}",
                            wrong - ends.begin(), *wrong));
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
  if (source.real && array.elements() == 0) return Tensor(DType::kInt32, {1, tokens});
  Tensor ids = source.form == DocumentForm::kSegments    ? ids_of_segments(array)
               : source.form == DocumentForm::kPositions ? documents_from_positions(array)
                                                         : ids_of_cu_seqlens(array, tokens);
  if (ids.extent(1) == tokens) return ids;
  throw Error(Errc::kShape, fmt::format("{} of {} tokens do not fit a mask of {}",
                                        name(source.form), ids.extent(1), tokens));
}

/// The ids with those of padding, where the flags are 0, set to pad_id.
Tensor without_padding(const Tensor& ids, const Tensor& real, std::int32_t pad_id) {
  const Tensor flags = token_flags(real);
  const Index tokens = ids.extent(1);
  if ((flags.rank() != 1 && flags.rank() != 2) || flags.extent(flags.rank() - 1) < tokens) {
    throw Error(Errc::kShape, fmt::format("flags of padding {} do not fit {} tokens",
                                          shape_text(flags.shape()), tokens));
  }
  const Index length = flags.extent(flags.rank() - 1);
  const Index rows = flags.rank() == 1 ? 1 : flags.extent(0), batch = std::max(rows, ids.extent(0));
  if ((rows != batch && rows != 1) || (ids.extent(0) != batch && ids.extent(0) != 1)) {
    throw Error(Errc::kShape, fmt::format("flags of padding of {} batches do not fit ids of {}",
                                          rows, ids.extent(0)));
  }
  const Tensor is_token = astype(flags, DType::kBool);
  const auto real_tokens = is_token.as<std::uint8_t>();
  Tensor out(DType::kInt32, {batch, tokens});
  const auto all = out.as<std::int32_t>();
  for (Index b = 0; b < batch; ++b) {
    const auto row = ids_of_batch(ids, b);
    const Index first = (rows == 1 ? 0 : b) * length + length - tokens;
    for (Index i = 0; i < tokens; ++i) {
      all[as_size(b * tokens + i)] =
          real_tokens[as_size(first + i)] != 0 ? row[as_size(i)] : pad_id;
    }
  }
  return out;
}

/// Flags of the keys say nothing of the queries if the last of them, which are those of the queries
/// if these are the last tokens, name padding: the queries of cross attention and of a static cache
/// are others.
void check_queries_are_real(const Tensor& real, Index queries) {
  const Tensor flags = astype(token_flags(real), DType::kBool);
  const Index length = flags.rank() == 0 ? 0 : flags.extent(flags.rank() - 1);
  const auto all = flags.as<std::uint8_t>();
  for (Index at = 0; at < flags.elements(); ++at) {
    if (at % length < length - queries || all[as_size(at)] != 0) continue;
    throw Error(
        Errc::kInvalidArgument,
        fmt::format("{} flags of padding for {} queries: flag {} is 0, and which queries are "
                    "padding is not known; give q=FLAGS,kv=FLAGS",
                    length, queries, at % length));
  }
}

/// The number of runs of equal ids.
Index stretches(std::span<const std::int32_t> ids) {
  Index out = ids.empty() ? 0 : 1;
  for (std::size_t i = 1; i < ids.size(); ++i) out += ids[i] != ids[i - 1];
  return out;
}

/// Where each run of equal ids begins, and where the last one ends.
std::vector<Index> borders(std::span<const std::int32_t> ids) {
  std::vector<Index> out;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i == 0 || ids[i] != ids[i - 1]) out.push_back(static_cast<Index>(i));
  }
  out.push_back(static_cast<Index>(ids.size()));
  return out;
}

/// The open cells between a run of queries and a run of keys, each with equal ids.
struct PairCells {
  Index count = 0;
  Index batch = 0, head = 0;  // the first head that uses the plane
  std::int32_t q = 0, kv = 0;
  Range rows, keys;

  auto pair() const { return std::tuple(batch, q, kv); }
};

/// Counts cells by pair of documents, for each pair of a run of queries and a run of keys with
/// equal ids in each run.
class PairCounts {
 public:
  explicit PairCounts(const Documents& ids) : ids_(ids) {}

  /// Adds a plane that `heads` heads of a batch entry share. Returns false, and adds nothing, if
  /// there are too many pairs of a run of queries and one of keys, each of equal ids, in the planes
  /// so far.
  bool add(Index batch, Index first_head, Index heads, const Plane& plane) {
    const auto q_ids = ids_of_batch(ids_.q, batch), k_ids = ids_of_batch(ids_.kv, batch);
    looked_at_ += stretches(q_ids) * stretches(k_ids);
    if (looked_at_ > kMostCounts) return false;
    const std::vector<Index> rows = borders(q_ids), edges = borders(k_ids);
    std::vector<std::vector<PairCells>> parts(rows.size() - 1);
    parallel_for(std::ssize(parts), [&](Index i) {
      const Range q{rows[as_size(i)], rows[as_size(i) + 1]};
      std::vector<Index> counts(edges.size() - 1);
      plane.counts(q, edges, counts);
      for (std::size_t j = 0; j < counts.size(); ++j) {
        if (counts[j] == 0) continue;
        parts[as_size(i)].push_back({counts[j] * heads,
                                     batch,
                                     first_head,
                                     q_ids[as_size(q.begin)],
                                     k_ids[as_size(edges[j])],
                                     q,
                                     {edges[j], edges[j + 1]}});
      }
    });
    for (const auto& part : parts) {
      for (const PairCells& cells : part) put(cells);
    }
    return true;
  }

  /// Sets the sums over all planes that were added, but not Leaks::first. `mask` has these planes.
  void finish(const Mask& mask, Leaks& out) {
    merge();
    out.padding_queries = padding_queries_;
    out.padding_keys = padding_keys_;
    out.pair_count = std::ssize(cells_);
    for (const PairCells& part : cells_) out.cross += part.count;
    const Index listed = std::min(out.pair_count, kMostLeakPairs);
    std::ranges::partial_sort(cells_, cells_.begin() + listed, [](const auto& a, const auto& b) {
      return a.count != b.count ? a.count > b.count : a.pair() < b.pair();
    });
    for (const PairCells& part : std::span(cells_).first(as_size(listed))) {
      auto first = first_cell(*mask.plane(part.batch, part.head), part.rows, part.keys);
      first->batch = part.batch;
      first->head = part.head;
      out.pairs.push_back({part.batch, part.q, part.kv, part.count, *first});
    }
  }

  /// The first cell between two documents in all planes that were added.
  std::optional<Cell> first(const Mask& mask) const {
    if (first_.count == 0) return std::nullopt;
    const auto k_ids = ids_of_batch(ids_.kv, first_.batch);
    const std::vector<Index> edges = borders(k_ids);
    std::vector<Range> foreign;
    for (std::size_t j = 0; j + 1 < edges.size(); ++j) {
      const DocumentCell cell = document_cell(first_.q, k_ids[as_size(edges[j])], ids_.pad_id);
      if (cell == DocumentCell::kLeak) foreign.push_back({edges[j], edges[j + 1]});
    }
    auto cell = first_cell(*mask.plane(first_.batch, first_.head), first_.rows, foreign);
    cell->batch = first_.batch;
    cell->head = first_.head;
    return cell;
  }

 private:
  void put(const PairCells& part) {
    switch (document_cell(part.q, part.kv, ids_.pad_id)) {
      case DocumentCell::kInside:
        return;
      case DocumentCell::kPaddingQuery:
        padding_queries_ += part.count;
        return;
      case DocumentCell::kPaddingKey:
        padding_keys_ += part.count;
        return;
      case DocumentCell::kLeak:
        break;
    }
    const auto order = [](const PairCells& p) { return std::tuple(p.batch, p.head, p.rows.begin); };
    if (first_.count == 0 || order(part) < order(first_)) first_ = part;
    cells_.push_back(part);
  }

  /// Merges the entries of each pair of documents into one: adds up their counts, and keeps the
  /// runs of the first entry.
  void merge() {
    std::ranges::stable_sort(cells_, {}, &PairCells::pair);
    std::size_t last = 0;
    for (std::size_t i = 1; i < cells_.size(); ++i) {
      if (cells_[i].pair() == cells_[last].pair()) {
        cells_[last].count += cells_[i].count;
      } else {
        cells_[++last] = cells_[i];
      }
    }
    if (!cells_.empty()) cells_.resize(last + 1);
  }

  const Documents& ids_;
  std::vector<PairCells> cells_;  // cells between documents
  PairCells first_;               // a count of 0: none yet
  Index padding_queries_ = 0, padding_keys_ = 0;
  Index looked_at_ = 0;
};

/// Adds each distinct plane of each batch entry once. Returns false if there are too many pairs of
/// runs; the remaining planes are then not added.
bool count_planes(const Mask& mask, Index batch, PairCounts& counts) {
  for (Index b = 0; b < batch; ++b) {
    // For each plane: its first head, and how many heads use it.
    std::map<std::uint32_t, std::pair<Index, Index>> heads;
    for (Index h = 0; h < mask.heads(); ++h) {
      ++heads.try_emplace(mask.index_of(b, h), h, 0).first->second.second;
    }
    for (const auto& [plane, use] : heads) {
      if (!counts.add(b, use.first, use.second, *mask.distinct()[plane])) return false;
    }
  }
  return true;
}

/// Computes the sums by combining masks and counting their open cells, without visiting pairs of
/// runs.
void sum_up(const Mask& mask, const Documents& documents, Leaks& out) {
  const DocumentCells masks = document_cells(mask, documents);
  const Mask inside = zip(Op::kAnd, masks.real, masks.same);
  // A mask with a single batch entry stands for all of them, so its cells count once for each.
  const auto cells = [batch = inside.batch()](const Mask& part) {
    return part.batch() == batch ? part.count() : part.count() * batch;
  };
  const Index of_real_queries = cells(masks.real_query), of_real = cells(masks.real);
  out.padding_queries = cells(mask) - of_real_queries;
  out.padding_keys = of_real_queries - of_real;
  out.cross = of_real - inside.count();
  if (out.cross > 0) out.first = first_cell(masks.leaks());
}

/// The number of batch entries of a mask and documents, where an extent of 1 broadcasts. Absent if
/// they do not fit.
std::optional<Index> common_batch(const Mask& mask, const Documents& documents) {
  Index out = mask.batch();
  for (const Index batch : {documents.q.extent(0), documents.kv.extent(0)}) {
    if (out != batch && out != 1 && batch != 1) return std::nullopt;
    out = out == 1 ? batch : out;
  }
  return out;
}

Index checked_batch(const Mask& mask, const Documents& documents) {
  if (const auto batch = common_batch(mask, documents)) return *batch;
  throw Error(Errc::kShape, fmt::format("documents of {} batches do not fit {}",
                                        std::max(documents.q.extent(0), documents.kv.extent(0)),
                                        shape_text(mask)));
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

Documents documents_of(const DocumentSource& source, Index queries, Index keys) {
  Documents out;
  out.q = ids_of(source, source.q, queries);
  out.kv = ids_of(source, source.kv ? *source.kv : source.q, keys);
  out.pad_id = source.form == DocumentForm::kSegments ? source.pad_id : -1;
  if (!source.real) return out;
  if (!source.kv_real && queries < keys) check_queries_are_real(*source.real, queries);
  out.q = without_padding(out.q, *source.real, out.pad_id);
  out.kv = without_padding(out.kv, source.kv_real ? *source.kv_real : *source.real, out.pad_id);
  return out;
}

Documents documents_of(const DocumentSource& source, const Mask& mask) {
  try {
    Documents out = documents_of(source, mask.queries(), mask.keys());
    checked_batch(mask, out);
    return out;
  } catch (const Error& error) {
    throw source.text.empty() ? error : error.within(source.text);
  }
}

bool fits(const Documents& documents, const Mask& mask) {
  return documents.q.extent(1) == mask.queries() && documents.kv.extent(1) == mask.keys() &&
         common_batch(mask, documents);
}

Leaks leaks(const Mask& mask, const Documents& documents) {
  const Index batch = checked_batch(mask, documents);
  PairCounts counts(documents);
  Leaks out;
  out.pairs_complete = count_planes(mask, batch, counts);
  counts.finish(mask, out);
  if (out.pairs_complete) {
    out.first = counts.first(mask);
  } else {
    sum_up(mask, documents, out);
  }
  return out;
}

}  // namespace maskctl
