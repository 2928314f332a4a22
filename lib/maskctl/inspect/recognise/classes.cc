#include "maskctl/inspect/recognise/classes.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_map>

#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/mask/rows.h"

namespace maskctl::recognition {
namespace {

/// Says that all queries of `q` and all keys of `k` are in one class, whose members see each other.
struct Link {
  Range q, k;
};

/// Returns links (of queries and keys in one class) that contain all open cells of a plane.
std::vector<Link> links_of(const Plane& plane) {
  std::vector<Link> links;
  each_band(plane, [&](Range rows, const Band& band) {
    const bool apart = band.begin_slope && band.end_slope && band.end - band.begin == 1;
    if (!apart) {
      links.push_back({rows, keys_of(rows, band)});
      return;
    }
    for (Index row = rows.begin; row < rows.end; ++row) {
      links.push_back({{row, row + 1}, {band.begin + row, band.begin + row + 1}});
    }
  });
  return links;
}

/// The queries, or the keys, cut into parts wherever a link begins or ends. A link is a range of
/// queries and one of keys that are in one class.
class Axis {
 public:
  void set(Index size, std::vector<Index> edges) {
    // If an axis is cut nearly everywhere, each position becomes a part.
    if (static_cast<Index>(edges.size()) * 4 > size) {
      edges.resize(static_cast<std::size_t>(size) + 1);
      std::iota(edges.begin(), edges.end(), 0);
      dense_ = true;
    }
    edges_ = in_order(std::move(edges), size);
    joined_.assign(edges_.size() + 1, 0);
    covered_.assign(edges_.size() + 1, 0);
  }
  std::size_t parts() const { return edges_.empty() ? 0 : edges_.size() - 1; }
  Range part(std::size_t i) const { return {edges_[i], edges_[i + 1]}; }
  std::size_t part_at(Index position) const {
    if (dense_) return static_cast<std::size_t>(position);
    return static_cast<std::size_t>(std::lower_bound(edges_.begin(), edges_.end(), position) -
                                    edges_.begin());
  }
  /// Joins all parts of the range into one class; returns the index of the first part.
  std::size_t join(Range range) {
    const std::size_t begin = part_at(range.begin), end = part_at(range.end);
    ++joined_[begin];
    --joined_[end - 1];
    ++covered_[begin];
    --covered_[end];
    return begin;
  }
  /// Calls f(part, whether a link contains both it and the next part, whether any link contains
  /// it).
  template <typename F>
  void each(F&& f) const {
    std::int32_t joined = 0, covered = 0;
    for (std::size_t i = 0; i < parts(); ++i) {
      joined += joined_[i];
      covered += covered_[i];
      f(i, joined > 0, covered > 0);
    }
  }

 private:
  /// The distinct edges, at which parts begin or end, in order. If there are many, they are marked
  /// in an array and read back, which is faster than sorting.
  static std::vector<Index> in_order(std::vector<Index> edges, Index size) {
    if (std::ssize(edges) * 64 < size) {
      std::sort(edges.begin(), edges.end());
      edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
      return edges;
    }
    std::vector<std::uint8_t> marked(static_cast<std::size_t>(size) + 1);
    for (const Index edge : edges) marked[static_cast<std::size_t>(edge)] = 1;
    edges.clear();
    for (const Range& range : ranges_of(marked)) {
      for (Index edge = range.begin; edge < range.end; ++edge) edges.push_back(edge);
    }
    return edges;
  }
  std::vector<Index> edges_;
  std::vector<std::int32_t> joined_, covered_;
  bool dense_ = false;
};

std::vector<Index> link_edges(const std::vector<Link>& links, Range Link::*side) {
  std::vector<Index> edges;
  edges.reserve(links.size() * 2);
  for (const Link& link : links) {
    edges.push_back((link.*side).begin);
    edges.push_back((link.*side).end);
  }
  return edges;
}

/// Numbers classes in the order in which they are requested.
class ClassNumbers {
 public:
  explicit ClassNumbers(std::size_t size) : number_(size, -1) {}
  std::int32_t operator()(std::uint32_t root) {
    if (number_[root] < 0) number_[root] = count_++;
    return number_[root];
  }
  std::int32_t count() const { return count_; }

 private:
  std::vector<std::int32_t> number_;
  std::int32_t count_ = 0;
};

/// Appends a range of queries (or keys) with the id of their class; extends the last run if it ends
/// where the range begins and has the same id.
void append(std::vector<ClassRun>& runs, Range at, std::int32_t id) {
  if (!runs.empty() && runs.back().id == id && runs.back().at.end == at.begin) {
    runs.back().at.end = at.end;
  } else {
    runs.push_back({at, id});
  }
}

std::vector<ClassRun> runs_of(const Axis& axis, std::size_t first, JoinedSets& sets,
                              ClassNumbers& numbers) {
  std::vector<ClassRun> runs;
  axis.each([&](std::size_t i, bool, bool covered) {
    if (covered) append(runs, axis.part(i), numbers(sets.root(first + i)));
  });
  return runs;
}

/// The classes of a plane stored row by row; queries and keys of one class see each other. A row
/// stored as words is compared with the keys that its class has so far, so that only new keys take
/// more than a few word operations.
class RowClasses {
 public:
  RowClasses(const Plane& plane, bool shared)
      : plane_(plane),
        shared_(shared),
        first_key_(shared ? 0 : static_cast<std::size_t>(plane.queries())),
        sets_(first_key_ + static_cast<std::size_t>(plane.keys())),
        covered_(first_key_ + static_cast<std::size_t>(plane.keys())),
        joined_to_(static_cast<std::size_t>(plane.keys())) {
    std::iota(joined_to_.begin(), joined_to_.end(), 0);
    plane.rows({0, plane.queries()}, [&](Range rows, const Keys& keys) { add(rows, keys); });
  }

  Classes take() { return classes_of(sets_, covered_, plane_.queries(), plane_.keys(), shared_); }

 private:
  void add(Range rows, const Keys& keys) {
    if (hull_of(keys).empty()) return;
    const auto first = static_cast<std::size_t>(rows.begin);
    for (auto row = first; row < static_cast<std::size_t>(rows.end); ++row) {
      join(first, row);
      covered_[row] = 1;
    }
    for (const Run& run : keys.runs) add_run(first, run);
    if (keys.is_words()) add_words(first, keys.words);
  }
  /// Joins the row with all keys of the run. Neighbouring keys are joined only once, however many
  /// rows see both.
  void add_run(std::size_t row, const Run& run) {
    link(row, static_cast<std::size_t>(run.begin));
    for (auto key = stretch_end(run.begin); key + 1 < run.end; key = stretch_end(key + 1)) {
      const auto at = static_cast<std::size_t>(key);
      link(first_key_ + at, at + 1);
      joined_to_[at] = key + 1;
    }
  }
  /// The last key to which `key` is known to be joined through all keys between.
  std::int32_t stretch_end(std::int32_t key) {
    auto at = static_cast<std::size_t>(key);
    while (joined_to_[at] != static_cast<std::int32_t>(at)) {
      auto& next = joined_to_[at];
      next = joined_to_[static_cast<std::size_t>(next)];  // shortens the path for the next search
      at = static_cast<std::size_t>(next);
    }
    return static_cast<std::int32_t>(at);
  }
  void add_words(std::size_t row, std::span<const std::uint64_t> words) {
    const auto first = static_cast<std::size_t>(first_open_key(Keys{{}, words}));
    link(row, first);
    std::vector<std::uint64_t> seen = std::move(seen_[sets_.root(row)]);
    seen.resize(words.size());
    for (std::size_t i = 0; i < words.size(); ++i) {
      for (std::uint64_t left = words[i] & ~seen[i]; left != 0; left &= left - 1) {
        link(row, i * 64 + static_cast<std::size_t>(std::countr_zero(left)));
      }
      seen[i] |= words[i];
    }
    // Linking may have merged the class with others, whose keys are then stored at the new root.
    std::vector<std::uint64_t>& kept = seen_[sets_.root(row)];
    kept.resize(words.size());
    combine_words(Op::kOr, kept, seen, kept);
  }
  void link(std::size_t node, std::size_t key) {
    covered_[first_key_ + key] = 1;
    join(node, first_key_ + key);
  }
  void join(std::size_t a, std::size_t b) {
    const std::uint32_t into = sets_.root(a), from = sets_.root(b);
    if (into == from) return;
    sets_.join(a, b);
    const auto at = seen_.find(from);
    if (at == seen_.end()) return;
    std::vector<std::uint64_t>& kept = seen_[into];
    kept.resize(at->second.size());
    combine_words(Op::kOr, kept, at->second, kept);
    seen_.erase(from);
  }

  const Plane& plane_;
  bool shared_;
  std::size_t first_key_;
  JoinedSets sets_;
  std::vector<std::uint8_t> covered_;
  std::vector<std::int32_t> joined_to_;  // per key: itself, or a later key to which it is joined
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>>
      seen_;  // the keys of each class, by its root
};

/// Returns the plane as slabs: ranges of queries of one class, each with the runs of keys of that
/// class as bands with vertical sides. Null if that takes too many bands.
PlanePtr as_slabs(const Classes& classes, Index queries, Index keys) {
  constexpr std::size_t kBandsPerSlab = 16;
  constexpr std::size_t kMostClassBands = std::size_t{1} << 16;
  std::vector<std::vector<Band>> seen(static_cast<std::size_t>(classes.count));
  for (const ClassRun& run : classes.k) {
    auto& bands = seen[static_cast<std::size_t>(run.id)];
    bands.push_back({run.at.begin, run.at.end, 0, 0});
    if (bands.size() > kBandsPerSlab) return nullptr;
  }
  std::vector<Slab> slabs;
  std::size_t used = 0;
  for (const ClassRun& run : classes.q) {
    slabs.push_back({run.at, seen[static_cast<std::size_t>(run.id)]});
    used += slabs.back().bands.size();
    if (used > kMostClassBands) return nullptr;
  }
  return bands(queries, keys, slabs);
}

/// Whether to store rows as words of 64 cells: true if rows have more runs of keys than words, so
/// that words are faster to read, unless they take too much memory.
bool as_words(const Classes& classes, Index queries, Index keys) {
  constexpr Index kMostBytes = Index{1} << 28;
  const Index words = words_for(keys);
  if (queries * words * 8 > kMostBytes) return false;
  std::vector<Index> runs(static_cast<std::size_t>(classes.count));
  for (const ClassRun& run : classes.k) ++runs[static_cast<std::size_t>(run.id)];
  Index all = 0;
  for (const ClassRun& run : classes.q) {
    all += run.at.size() * runs[static_cast<std::size_t>(run.id)];
  }
  return all > queries * words;
}

PlanePtr word_rows(const Classes& classes, Index queries, Index keys) {
  const auto words = static_cast<std::size_t>(words_for(keys));
  std::vector<std::uint64_t> seen(static_cast<std::size_t>(classes.count) * words);
  const auto row_of = [&](std::int32_t id) {
    return std::span(seen).subspan(static_cast<std::size_t>(id) * words, words);
  };
  for (const ClassRun& run : classes.k) set_bits(row_of(run.id), run.at);
  const std::vector<std::int32_t> ids = ids_of(classes.q, queries, 0, -1);
  return stored_rows(queries, keys, false, [&](Range q, std::span<std::uint64_t> out) {
    for (Index row = q.begin; row < q.end; ++row, out = out.subspan(words)) {
      const std::int32_t id = ids[static_cast<std::size_t>(row)];
      if (id < 0) {
        std::fill_n(out.begin(), words, 0);
      } else {
        std::copy_n(row_of(id).begin(), words, out.begin());
      }
    }
  });
}

}  // namespace

Classes classes_of(JoinedSets& sets, std::span<const std::uint8_t> covered, Index queries,
                   Index keys, bool shared) {
  ClassNumbers numbers(covered.size());
  const auto runs = [&](std::size_t first, Index size) {
    std::vector<ClassRun> out;
    for (Index i = 0; i < size; ++i) {
      const std::size_t node = first + static_cast<std::size_t>(i);
      if (covered[node]) append(out, {i, i + 1}, numbers(sets.root(node)));
    }
    return out;
  };
  Classes out;
  out.shared = shared;
  out.q = runs(0, queries);
  out.k = shared ? out.q : runs(static_cast<std::size_t>(queries), keys);
  out.count = numbers.count();
  return out;
}

Classes connected(const Plane& plane, bool shared) {
  if (!slabs_of(plane)) return RowClasses(plane, shared).take();
  const std::vector<Link> links = links_of(plane);
  Axis axes[2];
  std::vector<Index> q_edges = link_edges(links, &Link::q), k_edges = link_edges(links, &Link::k);
  if (shared) q_edges.insert(q_edges.end(), k_edges.begin(), k_edges.end());
  axes[0].set(plane.queries(), std::move(q_edges));
  if (!shared) axes[1].set(plane.keys(), std::move(k_edges));
  Axis& q_axis = axes[0];
  Axis& k_axis = shared ? axes[0] : axes[1];
  const std::size_t first_key = shared ? 0 : q_axis.parts();
  JoinedSets sets(first_key + k_axis.parts());
  for (const Link& link : links) {
    const std::size_t q = q_axis.join(link.q);
    sets.join(q, first_key + k_axis.join(link.k));
  }
  const auto join_neighbours = [&](const Axis& axis, std::size_t first) {
    axis.each([&](std::size_t i, bool joined, bool) {
      if (joined) sets.join(first + i, first + i + 1);
    });
  };
  join_neighbours(q_axis, 0);
  if (!shared) join_neighbours(k_axis, first_key);

  Classes out;
  out.shared = shared;
  ClassNumbers numbers(first_key + k_axis.parts());
  out.q = runs_of(q_axis, 0, sets, numbers);
  out.k = shared ? out.q : runs_of(k_axis, first_key, sets, numbers);
  out.count = numbers.count();
  return out;
}

PlanePtr plane_of(const Classes& classes, Index queries, Index keys) {
  if (static_cast<Index>(classes.q.size() + classes.k.size()) < (queries + keys) / 8) {
    if (PlanePtr plane = as_slabs(classes, queries, keys)) return plane;
  }
  if (as_words(classes, queries, keys)) return word_rows(classes, queries, keys);
  return equal_ids(ids_of(classes.q, queries, 0, -1), ids_of(classes.k, keys, 0, -1), -1,
                   Side::kBoth);
}

void write_ids(const std::vector<ClassRun>& runs, std::int32_t first, std::int32_t none,
               std::span<std::int32_t> ids) {
  std::ranges::fill(ids, none);
  for (const ClassRun& run : runs) {
    std::fill(ids.begin() + run.at.begin, ids.begin() + run.at.end, run.id + first);
  }
}

std::vector<std::int32_t> ids_of(const std::vector<ClassRun>& runs, Index size, std::int32_t first,
                                 std::int32_t none) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(size));
  write_ids(runs, first, none, ids);
  return ids;
}

}  // namespace maskctl::recognition
