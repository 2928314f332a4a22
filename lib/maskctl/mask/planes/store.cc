// Stores rows, chunk by chunk, as runs or as bits, whichever is cheaper.
#include <algorithm>
#include <atomic>

#include "maskctl/base/threads.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/stored_planes.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

/// The most runs that are worth storing instead of `words` words.
Index worthwhile_runs(Index words) { return words / 4 + 64; }

PlanePtr lists_of_words(Index rows, Index keys, std::span<const std::uint64_t> words) {
  const auto stride = static_cast<std::size_t>(words_for(keys));
  std::vector<Run> runs;
  std::vector<Index> offsets{0};
  std::vector<RowRef> refs;
  for (Index row = 0; row < rows; ++row) {
    const auto now = words.subspan(static_cast<std::size_t>(row) * stride, stride);
    const bool repeated = row > 0 && std::equal(now.begin(), now.end(),
                                                now.begin() - static_cast<std::ptrdiff_t>(stride));
    if (!repeated) {
      words_to_runs(now, runs);
      offsets.push_back(static_cast<Index>(runs.size()));
    }
    refs.push_back(
        {static_cast<std::uint32_t>(offsets.size() - 2), 0, static_cast<std::int32_t>(keys)});
  }
  return row_lists(keys, std::move(runs), std::move(offsets), std::move(refs));
}

/// Stores a chunk in the cheaper form: keeps the words, or extracts runs from them.
PlanePtr store_words(Index rows, Index keys, WordBuffer words) {
  const Index limit = worthwhile_runs(rows * words_for(keys));
  const auto stride = static_cast<std::size_t>(words_for(keys));
  Index runs = 0;
  const std::span<const std::uint64_t> all = words.words();
  for (Index row = 0; row < rows && runs <= limit; ++row) {
    runs += count_runs(all.subspan(static_cast<std::size_t>(row) * stride, stride));
  }
  if (runs <= limit) return lists_of_words(rows, keys, words.words());
  return std::make_shared<BitRows>(rows, keys, std::move(words));
}

/// Collects the rows of one chunk (rows that are stored together), as runs while there are few,
/// then as words.
class ChunkStore {
 public:
  ChunkStore(Index rows, Index keys) : rows_(rows), keys_(keys), stride_(words_for(keys)) {}

  void add(Index count, const Keys& keys) {
    if (!bits_ && (keys.is_words() || too_many(keys.runs.size()))) start_words();
    if (bits_) {
      for (Index i = 0; i < count; ++i) add_words(keys);
    } else {
      add_runs(count, keys.runs);
    }
  }
  bool as_runs() const { return !bits_; }
  Index runs() const { return static_cast<Index>(runs_.size()); }

  PlanePtr finish() {
    if (!bits_) return row_lists(keys_, std::move(runs_), std::move(offsets_), std::move(refs_));
    return store_words(rows_, keys_, std::move(*bits_));
  }

 private:
  bool too_many(std::size_t more) const {
    return static_cast<Index>(runs_.size() + more) > worthwhile_runs(rows_ * stride_);
  }
  void add_runs(Index count, std::span<const Run> runs) {
    const auto last =
        offsets_.size() > 1
            ? std::span(runs_).subspan(static_cast<std::size_t>(offsets_[offsets_.size() - 2]))
            : std::span<Run>();
    if (offsets_.size() == 1 || !std::equal(runs.begin(), runs.end(), last.begin(), last.end())) {
      runs_.insert(runs_.end(), runs.begin(), runs.end());
      offsets_.push_back(static_cast<Index>(runs_.size()));
    }
    refs_.insert(
        refs_.end(), static_cast<std::size_t>(count),
        {static_cast<std::uint32_t>(offsets_.size() - 2), 0, static_cast<std::int32_t>(keys_)});
  }
  void add_words(const Keys& keys) {
    const auto out = bits_->words().subspan(static_cast<std::size_t>(filled_++ * stride_),
                                            static_cast<std::size_t>(stride_));
    if (keys.is_words()) {
      std::copy(keys.words.begin(), keys.words.end(), out.begin());
    } else {
      runs_to_words(keys.runs, out);
    }
  }
  void start_words() {
    bits_.emplace(rows_ * stride_);
    for (const RowRef& ref : refs_) {
      const auto begin = static_cast<std::size_t>(offsets_[ref.list]);
      const auto end = static_cast<std::size_t>(offsets_[ref.list + 1]);
      add_words({std::span(runs_).subspan(begin, end - begin), {}});
    }
    runs_ = {};
    refs_ = {};
  }

  Index rows_, keys_, stride_;
  std::vector<Run> runs_;
  std::vector<Index> offsets_{0};
  std::vector<RowRef> refs_;
  std::optional<WordBuffer> bits_;
  Index filled_ = 0;
};

}  // namespace

Index chunk_rows(Index queries, Index keys) {
  constexpr Index kChunkWords = Index{1} << 19;
  const Index rows =
      std::max<Index>(1, kChunkWords / std::max<Index>(1, words_for(keys)) / 128) * 128;
  return std::min(rows, std::max<Index>(128, ceil_div(ceil_div(queries, threads()), 128) * 128));
}

PlanePtr stored_rows(Index queries, Index keys, bool in_order, const FillWords& fill) {
  if (queries == 0 || keys == 0) return empty_plane(queries, keys);
  const Index step = chunk_rows(queries, keys);
  std::vector<PlanePtr> parts(static_cast<std::size_t>(ceil_div(queries, step)));
  const auto make = [&](Index i) {
    const Range q{i * step, std::min((i + 1) * step, queries)};
    WordBuffer words(q.size() * words_for(keys));
    fill(q, words.words());
    parts[static_cast<std::size_t>(i)] = store_words(q.size(), keys, std::move(words));
  };
  if (in_order) {
    for (Index i = 0; i < static_cast<Index>(parts.size()); ++i) make(i);
  } else {
    parallel_for(static_cast<Index>(parts.size()), make);
  }
  return stacked(step, std::move(parts));
}

PlanePtr stored(const Plane& plane, Index budget_runs) {
  const Index queries = plane.queries(), keys = plane.keys();
  if (queries == 0 || keys == 0) return empty_plane(queries, keys);
  const Index budget_bytes = budget_runs * static_cast<Index>(sizeof(Run));
  const Index step = chunk_rows(queries, keys);
  std::vector<PlanePtr> parts(static_cast<std::size_t>(ceil_div(queries, step)));
  std::atomic<Index> used{0};
  parallel_for(static_cast<Index>(parts.size()), [&](Index i) {
    if (used > budget_bytes) return;
    const Range q{i * step, std::min((i + 1) * step, queries)};
    ChunkStore store(q.size(), keys);
    plane.rows(q, [&](Range r, const Keys& k) { store.add(r.size(), k); });
    auto& part = parts[static_cast<std::size_t>(i)];
    part = store.finish();
    used += part->bytes();
  });
  if (used > budget_bytes) return nullptr;
  return stacked(step, std::move(parts));
}

}  // namespace maskctl
