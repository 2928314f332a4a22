// Packed matrix products, compiled for several instruction sets.
#include "maskctl/attention/cpu/kernel.h"

#include <algorithm>
#include <cstring>

#include "maskctl/attention/cpu/prefetch_queue.h"
#include "maskctl/attention/cpu/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "maskctl/attention/cpu/kernel.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace maskctl::attention {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

HWY_ATTR Index panel_width() { return 2 * static_cast<Index>(hn::Lanes(D())); }

HWY_ATTR void pack_rows_all(const float* src, Index stride, Index rows, Index columns,
                            Index panel_rows, float* panel) {
  const D d;
  const Index width = panel_width(), half = width / 2;
  const Index padded = round_up(columns, kColumnGroup);
  for (Index first = 0; first < padded; first += width, panel += panel_rows * width) {
    const Index inside = std::clamp<Index>(columns - first, 0, width);
    float* out = panel;
    for (Index row = 0; row < rows; ++row, out += width) {
      const float* const from = src + row * stride + first;
      if (inside == width) {
        hn::StoreU(hn::LoadU(d, from), d, out);
        hn::StoreU(hn::LoadU(d, from + half), d, out + half);
        continue;
      }
      std::memcpy(out, from, as_size(inside) * sizeof(float));
      std::fill(out + inside, out + width, 0.0f);
    }
  }
}

/// The edge of the squares by which matrices are transposed: one cache line of floats.
constexpr Index kSquare = 16;

#if HWY_TARGET != HWY_SCALAR
/// A vector filled from groups of four floats: those at src, then those at src + stride, and so on.
template <class Tag>
HWY_INLINE HWY_ATTR hn::Vec<Tag> load_fours(Tag d, const float* src, Index stride) {
  if constexpr (hn::MaxLanes(Tag()) <= 4) {
    return hn::LoadU(d, src);
  } else {
    const hn::Half<Tag> half;
    const float* const upper = src + static_cast<Index>(hn::MaxLanes(d) / 8) * stride;
    return hn::Combine(d, load_fours(half, upper, stride), load_fours(half, src, stride));
  }
}
#endif

/// out[c * out_stride + w] = src[w * stride + c] for c < 4 and for all w < lanes of a vector.
HWY_INLINE HWY_ATTR void transpose_four(const float* src, [[maybe_unused]] Index stride, float* out,
                                        Index out_stride) {
#if HWY_TARGET == HWY_SCALAR
  for (Index c = 0; c < 4; ++c) out[c * out_stride] = src[c];
#else
  const D d;
  const auto load = [&](Index w) HWY_ATTR { return load_fours(d, src + w * stride, 4 * stride); };
  const hn::RepartitionToWide<D> pairs;
  const auto lower = [&](V a, V b)
                         HWY_ATTR { return hn::BitCast(pairs, hn::InterleaveLower(d, a, b)); };
  const auto upper = [&](V a, V b)
                         HWY_ATTR { return hn::BitCast(pairs, hn::InterleaveUpper(d, a, b)); };
  const V r0 = load(0), r1 = load(1), r2 = load(2), r3 = load(3);
  const auto low01 = lower(r0, r1), low23 = lower(r2, r3);
  const auto high01 = upper(r0, r1), high23 = upper(r2, r3);
  const auto store = [&](Index c, auto column)
                         HWY_ATTR { hn::StoreU(hn::BitCast(d, column), d, out + c * out_stride); };
  store(0, hn::InterleaveLower(pairs, low01, low23));
  store(1, hn::InterleaveUpper(pairs, low01, low23));
  store(2, hn::InterleaveLower(pairs, high01, high23));
  store(3, hn::InterleaveUpper(pairs, high01, high23));
#endif
}

/// out[c * out_stride + w] = src[w * stride + c] for c, w < kSquare.
HWY_INLINE HWY_ATTR void transpose_square(const float* src, Index stride, Index out_stride,
                                          float* out) {
  const auto step = static_cast<Index>(hn::Lanes(D()));
  for (Index c = 0; c < kSquare; c += 4) {
    for (Index w = 0; w < kSquare; w += step) {
      transpose_four(src + w * stride + c, stride, out + c * out_stride + w, out_stride);
    }
  }
}

HWY_ATTR void pack_columns_all(const float* src, Index stride, Index rows, Index columns,
                               float* out) {
  const Index width = panel_width();
  const Index padded = round_up(rows, kColumnGroup);
  for (Index first = 0; first < padded; first += width, out += width * columns) {
    const Index inside = std::clamp<Index>(rows - first, 0, width);
    if (inside < width) std::fill(out, out + width * columns, 0.0f);
    for (Index w = 0; w < inside; w += std::min(width, kSquare)) {
      const float* const row = src + (first + w) * stride;
      const Index height = std::min({inside - w, width, kSquare});
      for (Index c = 0; c < columns; c += kSquare) {
        if (height == kSquare && c + kSquare <= columns) {
          transpose_square(row + c, stride, width, out + c * width + w);
          continue;
        }
        for (Index y = 0; y < height; ++y) {
          for (Index x = c; x < std::min(c + kSquare, columns); ++x) {
            out[x * width + w + y] = row[y * stride + x];
          }
        }
      }
    }
  }
}

HWY_ATTR void transpose_all(const float* x, Index n, float* out) {
  for (Index r = 0; r < n; r += kSquare) {
    for (Index c = 0; c < n; c += kSquare) {
      transpose_square(x + r * n + c, n, n, out + c * n + r);
    }
  }
}

/// Multiplies six rows of A by one panel of B into six rows of C. `a` points to the first element
/// of A, or of A^T if kTransposed. With kHalf, computes only one of the two vectors of the panel,
/// the one that `panel` and `c` point to. The accumulators are separate variables because GCC 12
/// spills an array of vectors.
template <bool kTransposed = false, bool kHalf = false>
HWY_NOINLINE HWY_ATTR void multiply_six(const float* a, Index a_stride, Index depth,
                                        const float* panel, float* c, Index c_stride,
                                        bool accumulate) {
  const D d;
  const auto n = static_cast<Index>(hn::Lanes(d));
  float* const r0 = c;
  float* const r1 = c + c_stride;
  float* const r2 = c + 2 * c_stride;
  float* const r3 = c + 3 * c_stride;
  float* const r4 = c + 4 * c_stride;
  float* const r5 = c + 5 * c_stride;
  const auto load_right = [&](const float* row) HWY_ATTR {
    if constexpr (kHalf) {
      return hn::Zero(d);
    } else {
      return hn::LoadU(d, row + n);
    }
  };
  V c00 = hn::Zero(d), c01 = c00, c10 = c00, c11 = c00, c20 = c00, c21 = c00;
  V c30 = c00, c31 = c00, c40 = c00, c41 = c00, c50 = c00, c51 = c00;
  if (accumulate) {
    c00 = hn::LoadU(d, r0), c01 = load_right(r0);
    c10 = hn::LoadU(d, r1), c11 = load_right(r1);
    c20 = hn::LoadU(d, r2), c21 = load_right(r2);
    c30 = hn::LoadU(d, r3), c31 = load_right(r3);
    c40 = hn::LoadU(d, r4), c41 = load_right(r4);
    c50 = hn::LoadU(d, r5), c51 = load_right(r5);
  }
  const Index stride = kTransposed ? 1 : a_stride, step = kTransposed ? a_stride : 1;
  for (Index k = 0; k < depth; ++k, panel += 2 * n, a += step) {
    const V b0 = hn::LoadU(d, panel), b1 = load_right(panel);
    V x = hn::Set(d, a[0]);
    c00 = hn::MulAdd(x, b0, c00), c01 = hn::MulAdd(x, b1, c01);
    x = hn::Set(d, a[stride]);
    c10 = hn::MulAdd(x, b0, c10), c11 = hn::MulAdd(x, b1, c11);
    x = hn::Set(d, a[2 * stride]);
    c20 = hn::MulAdd(x, b0, c20), c21 = hn::MulAdd(x, b1, c21);
    x = hn::Set(d, a[3 * stride]);
    c30 = hn::MulAdd(x, b0, c30), c31 = hn::MulAdd(x, b1, c31);
    x = hn::Set(d, a[4 * stride]);
    c40 = hn::MulAdd(x, b0, c40), c41 = hn::MulAdd(x, b1, c41);
    x = hn::Set(d, a[5 * stride]);
    c50 = hn::MulAdd(x, b0, c50), c51 = hn::MulAdd(x, b1, c51);
  }
  const auto store = [&](V left, V right, float* row) HWY_ATTR {
    hn::StoreU(left, d, row);
    if constexpr (!kHalf) hn::StoreU(right, d, row + n);
  };
  store(c00, c01, r0), store(c10, c11, r1), store(c20, c21, r2);
  store(c30, c31, r3), store(c40, c41, r4), store(c50, c51, r5);
}

/// Prefetches the next panel in small steps while the row groups work on the current one. Does
/// nothing if there are few groups, because then there is too little work to hide the prefetches.
class PanelPrefetch {
 public:
  PanelPrefetch(Index panel_floats, std::size_t groups)
      : piece_(groups < kFewGroups
                   ? 0
                   : round_up(ceil_div(panel_floats, static_cast<Index>(groups)), kLine)) {}
  void start(const float* panel) { next_ = panel; }
  HWY_INLINE void step() {
    for (Index i = 0; i < piece_; i += kLine) hwy::Prefetch(next_ + i);
    next_ += piece_;
  }

 private:
  static constexpr std::size_t kFewGroups = 16;
  static constexpr Index kLine = 16;  // floats in a cache line
  Index piece_;
  const float* next_ = nullptr;
};

/// The smallest range that contains all nonempty spans.
HWY_INLINE Range hull(std::span<const Range> spans) {
  Range all;
  for (const Range& span : spans) {
    if (span.empty()) continue;
    all = all.empty() ? span : Range{std::min(all.begin, span.begin), std::max(all.end, span.end)};
  }
  return all;
}

HWY_ATTR void multiply_all(const float* a, Index a_stride, Index rows, Index depth,
                           const float* packed_b, Index columns, float* c, Index c_stride,
                           bool accumulate) {
  const Index width = panel_width();
  for (Index first = 0; first < columns; first += width, packed_b += width * depth) {
    for (Index row = 0; row < rows; row += kRowGroup) {
      multiply_six(a + row * a_stride, a_stride, depth, packed_b, c + row * c_stride + first,
                   c_stride, accumulate);
    }
  }
}

HWY_ATTR void multiply_columns_all(const float* a, Index a_stride, Index depth,
                                   const float* packed_b, std::span<const Range> spans, float* c,
                                   Index c_stride, PrefetchQueue* prefetches) {
  const Index width = panel_width();
  const Range all = hull(spans);
  PanelPrefetch next(width * depth, spans.size());
  for (Index first = all.begin / width * width; first < all.end; first += width) {
    next.start(packed_b + (first + width) * depth);
    for (std::size_t g = 0; g < spans.size(); ++g) {
      const Range part = intersect(spans[g], {first, first + width});
      if (part.empty()) continue;
      next.step();
      if (prefetches) prefetches->step(depth);
      const Index row = static_cast<Index>(g) * kRowGroup;
      const float* const from = a + row * a_stride;
      const float* const panel = packed_b + first * depth + (part.begin - first);
      float* const to = c + row * c_stride + part.begin;
      auto* const multiply = part.size() == width ? &multiply_six<> : &multiply_six<false, true>;
      multiply(from, a_stride, depth, panel, to, c_stride, false);
    }
  }
}

HWY_ATTR void multiply_depths_all(const float* a, Index a_stride, Index depth,
                                  const float* packed_b, Index columns,
                                  std::span<const Range> spans, float* c, Index c_stride,
                                  bool accumulate, PrefetchQueue* prefetches) {
  const Index width = panel_width();
  const Range all = hull(spans);
  PanelPrefetch next(width * all.size(), spans.size());
  for (Index first = 0; first < columns; first += width, packed_b += width * depth) {
    next.start(packed_b + width * (depth + all.begin));
    for (std::size_t g = 0; g < spans.size(); ++g) {
      const Range span = spans[g];
      if (span.empty()) continue;
      next.step();
      if (prefetches) prefetches->step(span.size());
      const Index row = static_cast<Index>(g) * kRowGroup;
      multiply_six(a + row * a_stride + span.begin, a_stride, span.size(),
                   packed_b + span.begin * width, c + row * c_stride + first, c_stride, accumulate);
    }
  }
}

HWY_ATTR void multiply_transposed_all(const float* a, Index a_stride, Index depth,
                                      const float* packed_b, Index columns,
                                      std::span<const Range> spans, float* c, Index c_stride,
                                      PrefetchQueue* prefetches) {
  const Index width = panel_width();
  for (Index first = 0; first < columns; first += width, packed_b += width * depth) {
    for (std::size_t g = 0; g < spans.size(); ++g) {
      if (spans[g].empty()) continue;
      if (prefetches) prefetches->step(spans[g].size());
      const Index row = static_cast<Index>(g) * kRowGroup;
      multiply_six<true>(a + spans[g].begin * a_stride + row, a_stride, spans[g].size(),
                         packed_b + spans[g].begin * width, c + row * c_stride + first, c_stride,
                         true);
    }
  }
}

HWY_ATTR const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace maskctl::attention
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace maskctl::attention {

HWY_EXPORT(panel_width);
HWY_EXPORT(pack_rows_all);
HWY_EXPORT(pack_columns_all);
HWY_EXPORT(transpose_all);
HWY_EXPORT(multiply_all);
HWY_EXPORT(multiply_columns_all);
HWY_EXPORT(multiply_depths_all);
HWY_EXPORT(multiply_transposed_all);
HWY_EXPORT(target_name);

Index panel_columns() { return HWY_DYNAMIC_DISPATCH(panel_width)(); }

void pack_rows(const float* src, Index stride, Index rows, Index columns, Index panel_rows,
               float* out) {
  HWY_DYNAMIC_DISPATCH(pack_rows_all)(src, stride, rows, columns, panel_rows, out);
}

void pack_columns(const float* src, Index stride, Index rows, Index columns, float* out) {
  HWY_DYNAMIC_DISPATCH(pack_columns_all)(src, stride, rows, columns, out);
}

void transpose(const float* x, Index n, float* out) {
  HWY_DYNAMIC_DISPATCH(transpose_all)(x, n, out);
}

void multiply(const float* a, Index a_stride, Index rows, Index depth, const float* packed_b,
              Index columns, float* c, Index c_stride, bool accumulate) {
  HWY_DYNAMIC_DISPATCH(multiply_all)
  (a, a_stride, rows, depth, packed_b, columns, c, c_stride, accumulate);
}

void multiply_columns(const float* a, Index a_stride, Index depth, const float* packed_b,
                      std::span<const Range> spans, float* c, Index c_stride,
                      PrefetchQueue* prefetches) {
  HWY_DYNAMIC_DISPATCH(multiply_columns_all)
  (a, a_stride, depth, packed_b, spans, c, c_stride, prefetches);
}

void multiply_depths(const float* a, Index a_stride, Index depth, const float* packed_b,
                     Index columns, std::span<const Range> spans, float* c, Index c_stride,
                     bool accumulate, PrefetchQueue* prefetches) {
  HWY_DYNAMIC_DISPATCH(multiply_depths_all)
  (a, a_stride, depth, packed_b, columns, spans, c, c_stride, accumulate, prefetches);
}

void multiply_transposed(const float* a, Index a_stride, Index depth, const float* packed_b,
                         Index columns, std::span<const Range> spans, float* c, Index c_stride,
                         PrefetchQueue* prefetches) {
  HWY_DYNAMIC_DISPATCH(multiply_transposed_all)
  (a, a_stride, depth, packed_b, columns, spans, c, c_stride, prefetches);
}

const char* cpu_target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace maskctl::attention
#endif  // HWY_ONCE
