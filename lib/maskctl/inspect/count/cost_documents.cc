#include "maskctl/inspect/count/cost_documents.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <span>
#include <vector>

#include "maskctl/base/huge_pages.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/arrays/nearest.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/gallop.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/mask/planes/row_lists/clipped_classes.h"
#include "maskctl/mask/planes/row_lists/row_keys.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

constexpr std::int32_t kNothing = -1;

/// Whether all heads of each batch entry are equal: ids have no axis for heads.
bool heads_agree(const Mask& mask) {
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 1; h < mask.heads(); ++h) {
      if (mask.index_of(b, h) != mask.index_of(b, 0)) return false;
    }
  }
  return true;
}

/// The first key of each row. Row i sees the keys j in its clip (a range of keys) whose class k[j]
/// is that of the row. Rows of a class mostly have clips that differ only a little, so each search
/// starts where the last one for the class ended.
std::vector<std::int32_t> first_keys(const ClippedClasses& classes) {
  std::vector<std::size_t> offsets(static_cast<std::size_t>(classes.count) + 1);
  for (const auto id : classes.k) {
    if (id >= 0) ++offsets[static_cast<std::size_t>(id) + 1];
  }
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  std::vector<std::int32_t> keys(offsets.back());  // keys of class 0, then of class 1, ...
  std::vector<std::size_t> next = offsets;
  for (std::size_t key = 0; key < classes.k.size(); ++key) {
    if (classes.k[key] < 0) continue;
    keys[next[static_cast<std::size_t>(classes.k[key])]++] = static_cast<std::int32_t>(key);
  }
  std::vector<std::size_t> last(
      static_cast<std::size_t>(classes.count));  // for each class: where the last search ended
  auto out = filled_vector(classes.q.size(), kNothing);
  for (std::size_t row = 0; row < out.size(); ++row) {
    if (classes.q[row] < 0) continue;
    const auto id = static_cast<std::size_t>(classes.q[row]);
    const Run clip = classes.clip[row];
    const auto all =
        std::span<const std::int32_t>(keys).subspan(offsets[id], offsets[id + 1] - offsets[id]);
    std::size_t& at = last[id];
    if (at > 0 && all[at - 1] >= clip.begin) at = 0;
    at = gallop(all, at, [&](std::int32_t key) { return key < clip.begin; });
    if (at < all.size() && all[at] < clip.end) out[row] = all[at];
  }
  return out;
}

/// The first key that each row sees; kNothing if it sees none.
std::vector<std::int32_t> read_first_keys(const Plane& plane) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(plane.queries()), kNothing);
  each_open_row(plane, [&](Range equal, Range keys) {
    std::fill(out.begin() + equal.begin, out.begin() + equal.end,
              static_cast<std::int32_t>(keys.begin));
  });
  return out;
}

/// Like read_first_keys(), but faster for clipped classes, in which each row sees the keys of one
/// shared list (a class) within a range of its own (its clip): reading such rows copies all their
/// runs.
std::vector<std::int32_t> first_keys(const Plane& plane) {
  if (const auto classes = clipped_classes(plane)) return first_keys(*classes);
  return read_first_keys(plane);
}

/// False if two rows with the same first key see different numbers of keys, unlike rows of
/// documents.
bool sizes_agree(const Plane& plane, std::span<const std::int32_t> first) {
  // For each key: how many keys are seen by a row that begins with it; 0 until such a row was met.
  auto seen = filled_vector(static_cast<std::size_t>(plane.keys()), Index{0});
  bool agree = true;
  plane.row_sizes({0, plane.queries()}, [&](Range equal, const Plane::RowSize& size) {
    if (size.keys == 0) return;
    Index& same = seen[static_cast<std::size_t>(first[static_cast<std::size_t>(equal.begin)])];
    if (same == 0) same = size.keys;
    agree = agree && same == size.keys;
  });
  return agree;
}

/// False if two neighbouring rows share some keys but not all, which rows of documents never do.
/// Stops at the first such pair.
bool neighbours_agree(const Plane& plane) {
  constexpr Index kRows = 128;
  bool agree = true;
  std::vector<Run> last, now, both, scratch;
  for (Index row = 0; row < plane.queries() && agree; row += kRows) {
    plane.rows({row, std::min(row + kRows, plane.queries())}, [&](Range, const Keys& keys) {
      if (!agree) return;
      const std::span<const Run> runs = as_runs(keys, scratch);
      now.assign(runs.begin(), runs.end());
      both.clear();
      if (now != last) combine_runs(Op::kAnd, last, now, both);
      agree = both.empty();
      std::swap(now, last);
    });
  }
  return agree;
}

/// A cheap test that is false for most masks that are not documents, which saves the search for the
/// nearest documents. It compares neighbouring rows or, for planes that know the sizes of rows
/// without reading them (has_row_index()), the sizes of rows with the same first key.
bool may_be_documents(const Plane& plane) {
  constexpr Index kFewRows = 128;  // enough to tell most masks apart
  if (!plane.has_row_index()) return neighbours_agree(plane);
  const PlanePtr few = plane.sliced({0, std::min(kFewRows, plane.queries())}, {0, plane.keys()});
  return sizes_agree(*few, read_first_keys(*few)) && sizes_agree(plane, first_keys(plane));
}

/// Whether each row q of the mask has exactly those keys of row q of `documents` that are not after
/// q.
bool rows_are_causal_part(const Plane& mask, const Plane& documents) {
  std::atomic<bool> agree{true};
  const Index tasks = std::min<Index>(mask.queries(), Index{threads()} * 8);
  const Index step = ceil_div(mask.queries(), tasks);
  parallel_for(ceil_div(mask.queries(), step), [&](Index task) {
    std::vector<Run> scratch, past;
    const Index end = std::min((task + 1) * step, mask.queries());
    for (Index q = task * step; q < end && agree; ++q) {
      documents.rows({q, q + 1}, [&](Range, const Keys& keys) {
        past.clear();
        clip_runs(as_runs(keys, scratch), {0, q + 1}, 0, past);
      });
      mask.rows({q, q + 1}, [&](Range, const Keys& keys) {
        if (!std::ranges::equal(as_runs(keys, scratch), past)) agree = false;
      });
    }
  });
  return agree;
}

bool is_causal_part(const PlanePtr& mask, const PlanePtr& documents) {
  const bool closed_form = slabs_of(*mask) || mask->has_row_index();
  if (!closed_form) return rows_are_causal_part(*mask, *documents);
  const PlanePtr causal = diagonal_band(mask->queries(), mask->keys(), -kUnbounded, 0);
  return differing_cells(mask, combine(Op::kAnd, documents, causal)) == 0;
}

/// The documents whose causal part is the mask; null if there are none. The first key that a token
/// sees is the first token of its document.
PlanePtr documents_under_causal(const PlanePtr& mask) {
  const Plane& plane = *mask;
  const std::vector<std::int32_t> ids = first_keys(plane);
  std::vector<Index> sizes(ids.size());
  for (const auto id : ids) {
    if (id != kNothing) ++sizes[static_cast<std::size_t>(id)];
  }
  const auto cells = [](Index sum, Index size) { return sum + size * (size + 1) / 2; };
  if (std::accumulate(sizes.begin(), sizes.end(), Index{0}, cells) != plane.count()) return nullptr;
  const PlanePtr documents = equal_ids(ids, ids, kNothing, Side::kBoth);
  return is_causal_part(mask, documents) ? documents : nullptr;
}

/// Returns the mask of whole documents of which the mask is the causal part; absent if the mask is
/// not square or if some plane is no such part.
std::optional<Mask> opened_above(const Mask& mask) {
  if (mask.queries() != mask.keys()) return std::nullopt;
  std::vector<PlanePtr> opened;
  for (const PlanePtr& plane : mask.distinct()) {
    opened.push_back(documents_under_causal(plane));
    if (!opened.back()) return std::nullopt;
  }
  return Mask::make(mask.batch(), mask.heads(), mask.queries(), mask.keys(),
                    [&](Index b, Index h) { return opened[mask.index_of(b, h)]; });
}

std::optional<Index> bytes_of(const Nearest& nearest) {
  if (nearest.changed != 0) return std::nullopt;
  const bool one = nearest.q.shape() == nearest.kv.shape() &&
                   std::ranges::equal(nearest.q.bytes(), nearest.kv.bytes());
  return std::ssize(nearest.q.bytes()) + (one ? 0 : std::ssize(nearest.kv.bytes()));
}

/// The bytes of cu_seqlens; absent for several distinct planes, because one list of lengths has no
/// axis for batches.
std::optional<Index> cu_seqlens_bytes(const Mask& documents) {
  if (documents.distinct().size() != 1) return std::nullopt;
  return bytes_of(nearest_cu_seqlens(documents));
}

}  // namespace

DocumentForms document_forms(const Mask& mask) {
  DocumentForms forms;
  if (mask.cells() == 0 || !heads_agree(mask)) return forms;
  if (std::ranges::all_of(mask.distinct(), [](const auto& p) { return may_be_documents(*p); })) {
    forms.segments = bytes_of(nearest_segments(mask));
    if (forms.segments) forms.cu_seqlens = cu_seqlens_bytes(mask);
    if (forms.segments) return forms;
  }
  if (const auto documents = opened_above(mask)) {
    forms.with_causal = true;
    forms.segments = 4 * mask.batch() * mask.queries();  // the ids from which `documents` was made
    forms.cu_seqlens = cu_seqlens_bytes(*documents);
  }
  return forms;
}

}  // namespace maskctl
