#include "maskctl/mask/mask.h"

#include <fmt/format.h>

#include <map>
#include <unordered_map>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bands.h"

namespace maskctl {
namespace {

/// Collects distinct planes (compared by pointer), numbered in order of first use.
class PlaneSet {
 public:
  std::uint32_t add(PlanePtr plane) {
    const auto [at, is_new] =
        index_.emplace(plane.get(), static_cast<std::uint32_t>(planes_.size()));
    if (is_new) planes_.push_back(std::move(plane));
    return at->second;
  }
  std::vector<PlanePtr> take() { return std::move(planes_); }

 private:
  std::unordered_map<const Plane*, std::uint32_t> index_;
  std::vector<PlanePtr> planes_;
};

Index broadcast(Index a, Index b, const Mask& left, const Mask& right) {
  if (a == b || b == 1) return a;
  if (a == 1) return b;
  throw Error(Errc::kShape,
              fmt::format("masks {} and {} do not match: expected equal extents, or 1 "
                          "batch or head to be shared",
                          shape_text(left), shape_text(right)));
}

/// Makes a mask. One without planes gets an empty plane, so that it keeps its numbers of queries
/// and keys.
Mask made(Index batch, Index heads, Index queries, Index keys, PlaneSet planes,
          std::vector<std::uint32_t> which) {
  auto distinct = planes.take();
  if (distinct.empty()) distinct.push_back(empty_plane(queries, keys));
  return Mask(batch, heads, std::move(distinct), std::move(which));
}

}  // namespace

Mask::Mask(Index batch, Index heads, std::vector<PlanePtr> distinct,
           std::vector<std::uint32_t> which)
    : batch_(batch), heads_(heads), distinct_(std::move(distinct)), which_(std::move(which)) {
  if (distinct_.empty()) throw Error(Errc::kShape, "a mask needs at least one plane");
  for (const PlanePtr& plane : distinct_) {
    if (!plane) throw Error(Errc::kInvalidArgument, "a plane of a mask is null");
  }
  queries_ = distinct_.front()->queries();
  keys_ = distinct_.front()->keys();
  for (const PlanePtr& plane : distinct_) {
    if (plane->queries() != queries_ || plane->keys() != keys_) {
      throw Error(Errc::kShape, fmt::format("planes of {} x {} and {} x {} in one mask: expected "
                                            "equal extents",
                                            queries_, keys_, plane->queries(), plane->keys()));
    }
  }
  const auto planes = checked_mul(batch_, heads_);
  if (batch_ < 0 || heads_ < 0 || !planes || *planes != std::ssize(which_)) {
    throw Error(Errc::kShape,
                fmt::format("a mask of {} batches and {} heads with {} numbers of planes: expected "
                            "one for each batch and head",
                            batch_, heads_, which_.size()));
  }
  for (const std::uint32_t number : which_) {
    if (number >= distinct_.size()) {
      throw Error(Errc::kInvalidArgument,
                  fmt::format("plane number {} of {} planes", number, distinct_.size()));
    }
  }
  const Index extents[] = {batch_, heads_, queries_, keys_};
  if (!checked_product(extents)) {
    throw Error(Errc::kLimit,
                fmt::format("{} has more cells than a 64-bit number counts", shape_text(*this)));
  }
}

Mask Mask::make(Index batch, Index heads, Index queries, Index keys,
                const std::function<PlanePtr(Index, Index)>& plane) {
  PlaneSet planes;
  std::vector<std::uint32_t> which;
  for (Index b = 0; b < batch; ++b) {
    for (Index h = 0; h < heads; ++h) which.push_back(planes.add(plane(b, h)));
  }
  return made(batch, heads, queries, keys, std::move(planes), std::move(which));
}

std::uint32_t Mask::index_of(Index b, Index h) const {
  const Index batch = batch_ == 1 ? 0 : b;
  const Index head = heads_ == 1 ? 0 : h;
  return which_[static_cast<std::size_t>(batch * heads_ + head)];
}

const PlanePtr& Mask::plane(Index b, Index h) const { return distinct_[index_of(b, h)]; }

Index Mask::count() const {
  std::vector<Index> uses(distinct_.size());
  for (const std::uint32_t i : which_) ++uses[i];
  Index open = 0;
  for (std::size_t i = 0; i < distinct_.size(); ++i) {
    if (uses[i] > 0) open += uses[i] * distinct_[i]->count();
  }
  return open;
}

Mask Mask::map(const std::function<PlanePtr(const PlanePtr&)>& f) const {
  std::vector<PlanePtr> mapped;
  mapped.reserve(distinct_.size());
  for (const PlanePtr& plane : distinct_) mapped.push_back(f(plane));
  return Mask(batch_, heads_, std::move(mapped), which_);
}

Mask Mask::map_batch(Index batch, const std::function<PlanePtr(Index, const PlanePtr&)>& f) const {
  if (batch_ != batch && batch_ != 1) {
    throw Error(Errc::kShape, fmt::format("{} values per batch do not fit {}: expected 1 or {}",
                                          batch, shape_text(*this), batch_));
  }
  PlaneSet planes;
  std::vector<std::uint32_t> which;
  Index queries = queries_, keys = keys_;
  for (Index b = 0; b < batch; ++b) {
    std::map<std::uint32_t, std::uint32_t> done;  // old to new plane number, in batch b
    for (Index h = 0; h < heads_; ++h) {
      const std::uint32_t from = index_of(b, h);
      if (!done.contains(from)) {
        PlanePtr mapped = f(b, distinct_[from]);
        queries = mapped->queries();
        keys = mapped->keys();
        done[from] = planes.add(std::move(mapped));
      }
      which.push_back(done[from]);
    }
  }
  return made(batch, heads_, queries, keys, std::move(planes), std::move(which));
}

namespace {

/// The batch and heads of a mask made from both. Throws Error(kShape) if they do not fit.
std::pair<Index, Index> common_planes(const Mask& a, const Mask& b) {
  if (a.queries() != b.queries() || a.keys() != b.keys()) {
    throw Error(Errc::kShape, fmt::format("masks {} and {} do not fit: expected equal queries and "
                                          "keys",
                                          shape_text(a), shape_text(b)));
  }
  return {broadcast(a.batch(), b.batch(), a, b), broadcast(a.heads(), b.heads(), a, b)};
}

}  // namespace

Mask zip(Op op, const Mask& a, const Mask& b) {
  const auto [batch, heads] = common_planes(a, b);
  std::map<std::pair<std::uint32_t, std::uint32_t>, PlanePtr> pairs;
  return Mask::make(batch, heads, a.queries(), a.keys(), [&](Index n, Index h) {
    PlanePtr& plane = pairs[{a.index_of(n, h), b.index_of(n, h)}];
    if (!plane) plane = combine(op, a.plane(n, h), b.plane(n, h));
    return plane;
  });
}

Mask complement(const Mask& mask) {
  return mask.map([](const PlanePtr& plane) { return complement(plane); });
}

Mask transposed(const Mask& mask) {
  return mask.map([](const PlanePtr& plane) { return plane->transposed(); });
}

Mask sliced(const Mask& mask, Range b, Range h, Range q, Range k) {
  std::vector<PlanePtr> cut(mask.distinct().size());
  return Mask::make(b.size(), h.size(), q.size(), k.size(), [&](Index n, Index head) {
    const std::uint32_t from = mask.index_of(b.begin + n, h.begin + head);
    if (!cut[from]) cut[from] = mask.distinct()[from]->sliced(q, k);
    return cut[from];
  });
}

Mask reduce_heads(Op op, const Mask& mask) {
  if (mask.heads() == 0) throw Error(Errc::kShape, "a mask without heads cannot be reduced to one");
  Mask reduced = sliced(mask, {0, mask.batch()}, {0, 1}, {0, mask.queries()}, {0, mask.keys()});
  for (Index h = 1; h < mask.heads(); ++h) {
    reduced =
        zip(op, reduced,
            sliced(mask, {0, mask.batch()}, {h, h + 1}, {0, mask.queries()}, {0, mask.keys()}));
  }
  return reduced;
}

Mask full_mask(Index batch, Index heads, Index queries, Index keys) {
  const PlanePtr full = full_plane(queries, keys);
  return Mask::make(batch, heads, queries, keys, [&](Index, Index) { return full; });
}

Mask full_like(const Mask& mask) {
  return full_mask(mask.batch(), mask.heads(), mask.queries(), mask.keys());
}

Index differing_cells(const Mask& a, const Mask& b) {
  const auto [batch, heads] = common_planes(a, b);
  std::map<std::pair<std::uint32_t, std::uint32_t>, Index> pairs;
  for (Index n = 0; n < batch; ++n) {
    for (Index h = 0; h < heads; ++h) ++pairs[{a.index_of(n, h), b.index_of(n, h)}];
  }
  Index out = 0;
  for (const auto& [pair, uses] : pairs) {
    out += uses * differing_cells(a.distinct()[pair.first], b.distinct()[pair.second]);
  }
  return out;
}

bool same_shape(const Mask& a, const Mask& b) {
  return a.batch() == b.batch() && a.heads() == b.heads() && a.queries() == b.queries() &&
         a.keys() == b.keys();
}

std::string shape_text(const Mask& mask) {
  return fmt::format("[B {}, H {}, Q {}, K {}]", mask.batch(), mask.heads(), mask.queries(),
                     mask.keys());
}

}  // namespace maskctl
