// The segment ids nearest to a mask; queries and keys share ids if the mask consists of rectangles.
#include <algorithm>
#include <map>

#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/arrays/nearest.h"
#include "maskctl/mask/arrays/segment_ids.h"
#include "maskctl/mask/planes/row_lists/row_keys.h"

namespace maskctl {
namespace {

using Ids = std::vector<std::int32_t>;

constexpr std::int32_t kNothing = -1;

struct Classes {
  Ids q, k;  // class of each query and of each key; kNothing: no open cell
};

/// Returns the number of tokens in each class (queries with equal rows, or keys with equal
/// columns), without the tokens of kNothing.
std::vector<Index> sizes(const Ids& ids) {
  std::vector<Index> out;
  for (const std::int32_t id : ids) {
    if (id == kNothing) continue;
    if (id >= std::ssize(out)) out.resize(static_cast<std::size_t>(id) + 1);
    ++out[static_cast<std::size_t>(id)];
  }
  return out;
}

/// Gives each class of keys (equal columns) the number of the class of queries (equal rows) that
/// sees it, if the mask consists of rectangles: each query class sees one key class that no other
/// query class sees. Otherwise changes nothing.
///
/// To test this, each query class is matched with the class of the first key it sees. All cells of
/// such a rectangle are open, so the rectangles are the whole mask exactly when they have as many
/// cells.
void match(const Plane& plane, Classes& classes) {
  const auto q_sizes = sizes(classes.q);
  const auto k_sizes = sizes(classes.k);
  std::vector<std::int32_t> query_of(k_sizes.size(), kNothing);
  std::vector<bool> seen(q_sizes.size());
  Index cells = 0;
  each_open_row(plane, [&](Range equal, Range keys) {
    const auto q = static_cast<std::size_t>(classes.q[static_cast<std::size_t>(equal.begin)]);
    if (seen[q]) return;
    seen[q] = true;
    const auto k = static_cast<std::size_t>(classes.k[static_cast<std::size_t>(keys.begin)]);
    if (query_of[k] != kNothing) return;
    query_of[k] = static_cast<std::int32_t>(q);
    cells += q_sizes[q] * k_sizes[k];
  });
  if (cells != plane.count()) return;
  for (std::int32_t& id : classes.k) {
    if (id != kNothing) id = query_of[static_cast<std::size_t>(id)];
  }
}

void write_ids(const Ids& ids, std::int32_t pad_id, std::span<std::int32_t> out) {
  std::ranges::transform(ids, out.begin(), [pad_id](std::int32_t id) {
    if (id == kNothing) return pad_id;
    return pad_id >= 0 && id >= pad_id ? id + 1 : id;
  });
}

}  // namespace

Nearest nearest_segments(const Mask& mask, std::int32_t pad_id) {
  Nearest out;
  out.q = Tensor(DType::kInt32, {mask.batch(), mask.queries()});
  out.kv = Tensor(DType::kInt32, {mask.batch(), mask.keys()});
  std::ranges::fill(out.q.as<std::int32_t>(), pad_id);  // a mask without heads keeps these
  std::ranges::fill(out.kv.as<std::int32_t>(), pad_id);
  std::map<std::uint32_t, Classes> known;
  for (Index b = 0; b < mask.batch() && mask.heads() > 0; ++b) {
    auto [at, fresh] = known.try_emplace(mask.index_of(b, 0));
    Classes& classes = at->second;
    if (fresh) {
      const Plane& plane = *mask.plane(b, 0);
      std::tie(classes.q, classes.k) = segment_ids_of_mask(plane);
      match(plane, classes);
    }
    const auto row = [b](Tensor& ids) {
      const auto length = static_cast<std::size_t>(ids.extent(1));
      return ids.as<std::int32_t>().subspan(static_cast<std::size_t>(b) * length, length);
    };
    write_ids(classes.q, pad_id, row(out.q));
    write_ids(classes.k, pad_id, row(out.kv));
  }
  out.mask = mask_from_segments(out.q, out.kv, pad_id);
  out.changed = differing_cells(mask, out.mask);
  return out;
}

}  // namespace maskctl
