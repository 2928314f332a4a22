#include "maskctl/mask/segment_ids.h"

#include <algorithm>
#include <unordered_map>

#include "maskctl/base/threads.h"
#include "maskctl/mask/words.h"

namespace maskctl {
namespace {

constexpr std::int32_t kPadding = -1;

/// splitmix64's finaliser: every bit of the input moves every bit of the output.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::uint64_t hash_runs(std::span<const Run> runs) {
  std::uint64_t hash = 0x9e3779b97f4a7c15ULL;
  for (const Run& run : runs) {
    const auto begin = static_cast<std::uint64_t>(static_cast<std::uint32_t>(run.begin));
    const auto end = static_cast<std::uint64_t>(static_cast<std::uint32_t>(run.end));
    hash = mix(hash + mix(begin << 32 | end));
  }
  return hash;
}

std::span<const Run> runs_of(const Keys& keys, std::vector<Run>& buffer) {
  if (!keys.is_words()) return keys.runs;
  buffer.clear();
  words_to_runs(keys.words, buffer);
  return buffer;
}

bool row_is(const Plane& plane, Index row, std::span<const Run> runs) {
  bool equal = false;
  std::vector<Run> buffer;
  plane.rows({row, row + 1}, [&](Range, const Keys& keys) {
    equal = std::ranges::equal(runs_of(keys, buffer), runs);
  });
  return equal;
}

struct Class {
  Index first_row = 0;
  std::int32_t id = 0;
};

/// Numbers distinct rows by first appearance.
class Classifier {
 public:
  explicit Classifier(const Plane& plane) : plane_(plane) {}

  std::int32_t id_of(Index row, std::span<const Run> runs) {
    if (runs.empty()) return kPadding;
    if (!last_.empty() && std::ranges::equal(runs, last_)) return last_id_;
    // The copy outlives the call that lends the runs, and makes the comparison with another row of
    // the same plane safe.
    last_.assign(runs.begin(), runs.end());
    last_id_ = look_up(row);
    return last_id_;
  }

 private:
  std::int32_t look_up(Index row) {
    auto [entry, end] = classes_.equal_range(hash_runs(last_));
    for (; entry != end; ++entry) {
      if (row_is(plane_, entry->second.first_row, last_)) return entry->second.id;
    }
    const auto id = static_cast<std::int32_t>(classes_.size());
    classes_.emplace(hash_runs(last_), Class{row, id});
    return id;
  }

  const Plane& plane_;
  std::unordered_multimap<std::uint64_t, Class> classes_;
  std::vector<Run> last_;
  std::int32_t last_id_ = kPadding;
};

}  // namespace

std::vector<std::int32_t> row_classes(const Plane& plane) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(plane.queries()), kPadding);
  Classifier classifier(plane);
  std::vector<Run> buffer;
  plane.rows({0, plane.queries()}, [&](Range equal_rows, const Keys& keys) {
    const std::int32_t id = classifier.id_of(equal_rows.begin, runs_of(keys, buffer));
    std::fill(ids.begin() + equal_rows.begin, ids.begin() + equal_rows.end, id);
  });
  return ids;
}

std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>> segment_ids_of_mask(
    const Plane& plane) {
  const PlanePtr columns = plane.transposed();
  std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>> ids;
  parallel_for(2, [&](Index side) {
    if (side == 0) {
      ids.first = row_classes(plane);
    } else {
      ids.second = row_classes(*columns);
    }
  });
  return ids;
}

}  // namespace maskctl
