// The slow and obvious twin of a lazy mask, for tests: an array of cells and plain loops.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/rows.h"

namespace maskctl::twin {

/// A mask [b, h, q, k] of bytes 0 or 1, row-major. get() reads the only batch or head for any index
/// if there is just one.
struct Dense {
  Index b = 0, h = 0, q = 0, k = 0;
  std::vector<std::uint8_t> cells;

  Dense() = default;
  Dense(Index batch, Index heads, Index queries, Index keys, bool open = false)
      : b(batch),
        h(heads),
        q(queries),
        k(keys),
        cells(static_cast<std::size_t>(batch * heads * queries * keys), open ? 1 : 0) {}

  std::size_t offset(Index batch, Index head, Index query, Index key) const {
    return static_cast<std::size_t>(((batch * h + head) * q + query) * k + key);
  }
  bool get(Index batch, Index head, Index query, Index key) const {
    return cells[offset(b == 1 ? 0 : batch, h == 1 ? 0 : head, query, key)] != 0;
  }
  bool get(Index query, Index key) const { return get(0, 0, query, key); }
  void set(Index batch, Index head, Index query, Index key, bool open) {
    cells[offset(batch, head, query, key)] = open ? 1 : 0;
  }
  void set(Index query, Index key, bool open) { set(0, 0, query, key, open); }

  friend bool operator==(const Dense&, const Dense&) = default;
};

/// Makes an array whose cells are rule(b, h, q, k).
template <typename Rule>
Dense make(Index b, Index h, Index q, Index k, Rule&& rule) {
  Dense out(b, h, q, k);
  for (Index ib = 0; ib < b; ++ib) {
    for (Index ih = 0; ih < h; ++ih) {
      for (Index iq = 0; iq < q; ++iq) {
        for (Index ik = 0; ik < k; ++ik) out.set(ib, ih, iq, ik, rule(ib, ih, iq, ik));
      }
    }
  }
  return out;
}

/// Makes an array of one batch and one head whose cells are rule(q, k).
template <typename Rule>
Dense matrix(Index q, Index k, Rule&& rule) {
  return make(1, 1, q, k, [&](Index, Index, Index iq, Index ik) { return rule(iq, ik); });
}

inline bool apply_op(Op op, bool a, bool b) {
  switch (op) {
    case Op::kAnd:
      return a && b;
    case Op::kOr:
      return a || b;
    case Op::kXor:
      return a != b;
    case Op::kSub:
      return a && !b;
  }
  return false;
}

/// Combines two arrays cell by cell; batch and heads are broadcast as in numpy.
inline Dense zip(Op op, const Dense& a, const Dense& b) {
  return make(std::max(a.b, b.b), std::max(a.h, b.h), a.q, a.k,
              [&](Index ib, Index ih, Index iq, Index ik) {
                return apply_op(op, a.get(ib, ih, iq, ik), b.get(ib, ih, iq, ik));
              });
}

inline Dense complement(const Dense& a) {
  return make(a.b, a.h, a.q, a.k,
              [&](Index b, Index h, Index q, Index k) { return !a.get(b, h, q, k); });
}

inline Dense transposed(const Dense& a) {
  return make(a.b, a.h, a.k, a.q,
              [&](Index b, Index h, Index q, Index k) { return a.get(b, h, k, q); });
}

inline Dense sliced(const Dense& a, Range b, Range h, Range q, Range k) {
  return make(b.size(), h.size(), q.size(), k.size(), [&](Index ib, Index ih, Index iq, Index ik) {
    return a.cells[a.offset(b.begin + ib, h.begin + ih, q.begin + iq, k.begin + ik)] != 0;
  });
}

inline Dense sliced(const Dense& a, Range q, Range k) {
  return sliced(a, {0, a.b}, {0, a.h}, q, k);
}

/// Returns the matrix of batch b and head h.
inline Dense plane_of(const Dense& a, Index b, Index h) {
  return sliced(a, {b, b + 1}, {h, h + 1}, {0, a.q}, {0, a.k});
}

inline Index count(const Dense& a, Range q, Range k) {
  Index sum = 0;
  for (Index iq = q.begin; iq < q.end; ++iq) {
    for (Index ik = k.begin; ik < k.end; ++ik) sum += a.get(iq, ik);
  }
  return sum;
}

inline Fill classify(const Dense& a, Range q, Range k) {
  const Index open = count(a, q, k);
  if (open == 0) return Fill::kEmpty;
  return open == q.size() * k.size() ? Fill::kFull : Fill::kPartial;
}

/// Returns the non-empty tiles among the rows q; equal neighbours are merged into one run.
inline std::vector<TileRun> tiles(const Dense& a, Range q, Index key_tile) {
  std::vector<TileRun> out;
  for (Index t = 0; t * key_tile < a.k; ++t) {
    const Fill fill = classify(a, q, {t * key_tile, std::min((t + 1) * key_tile, a.k)});
    if (fill == Fill::kEmpty) continue;
    if (!out.empty() && out.back().fill == fill && out.back().first + out.back().count == t) {
      ++out.back().count;
    } else {
      out.push_back({static_cast<std::int32_t>(t), 1, fill});
    }
  }
  return out;
}

/// Writes the keys of one row, given as runs or as bit words, as bytes 0 and 1.
inline void write_row(const Keys& keys, Index extent, std::uint8_t* out) {
  for (Index k = 0; k < extent; ++k) out[k] = 0;
  if (keys.is_words()) {
    for (Index k = 0; k < extent; ++k)
      out[k] = keys.words[static_cast<std::size_t>(k / 64)] >> (k % 64) & 1;
  }
  for (const Run& run : keys.runs) {
    for (Index k = std::max(run.begin, 0); k < std::min<Index>(run.end, extent); ++k) out[k] = 1;
  }
}

inline Dense dense_of(const Plane& plane) {
  Dense out(1, 1, plane.queries(), plane.keys());
  plane.rows({0, plane.queries()}, [&](Range equal, const Keys& keys) {
    for (Index q = std::max<Index>(equal.begin, 0); q < std::min(equal.end, out.q); ++q) {
      write_row(keys, out.k, out.cells.data() + out.offset(0, 0, q, 0));
    }
  });
  return out;
}

inline Dense dense_of(const Mask& mask) {
  Dense out(mask.batch(), mask.heads(), mask.queries(), mask.keys());
  for (Index b = 0; b < out.b; ++b) {
    for (Index h = 0; h < out.h; ++h) {
      mask.plane(b, h)->rows({0, out.q}, [&](Range equal, const Keys& keys) {
        for (Index q = equal.begin; q < equal.end; ++q) {
          write_row(keys, out.k, out.cells.data() + out.offset(b, h, q, 0));
        }
      });
    }
  }
  return out;
}

/// Makes a stored plane of the matrix of batch b and head h; each row has its own list of runs.
inline PlanePtr plane_of_matrix(const Dense& dense, Index b = 0, Index h = 0) {
  std::vector<Run> runs;
  std::vector<Index> offsets = {0};
  std::vector<RowRef> refs;
  for (Index q = 0; q < dense.q; ++q) {
    for (Index k = 0; k < dense.k; ++k) {
      if (!dense.get(b, h, q, k)) continue;
      const auto key = static_cast<std::int32_t>(k);
      if (k > 0 && dense.get(b, h, q, k - 1)) {
        runs.back().end = key + 1;
      } else {
        runs.push_back({key, key + 1});
      }
    }
    offsets.push_back(static_cast<Index>(runs.size()));
    refs.push_back({static_cast<std::uint32_t>(q), 0, static_cast<std::int32_t>(dense.k)});
  }
  return row_lists(dense.k, std::move(runs), std::move(offsets), std::move(refs));
}

/// Makes a mask of the array; each batch and head gets its own plane.
inline Mask mask_of(const Dense& dense) {
  return Mask::make(dense.b, dense.h, dense.q, dense.k,
                    [&](Index b, Index h) { return plane_of_matrix(dense, b, h); });
}

}  // namespace maskctl::twin
