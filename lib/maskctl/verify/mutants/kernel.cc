#include "maskctl/verify/mutants/kernel.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "maskctl/attention/softmax/softmax.h"
#include "maskctl/base/threads.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

constexpr Index kBandCells = Index{1} << 18;  // of the weights that a task holds at a time
/// What a kernel adds to closed logits; exact in f32, and far below any logit.
constexpr float kClosedLogit = -1e30F;

float rounded_number(float x, DType dtype) {
  if (dtype == DType::kBFloat16) return float_from_bfloat16(bfloat16_from_float(x));
  if (dtype == DType::kFloat16) return float_from_half(half_from_float(x));
  return x;
}

/// The rows [begin, end) of head h of x [B,T,H,D], as [1,rows,1,D].
Tensor head_rows(const Tensor& x, Index b, Index h, Range rows) {
  const Index heads = x.extent(2), dim = x.extent(3);
  Tensor out = Tensor::unwritten(DType::kFloat32, {1, rows.size(), 1, dim});
  float* to = out.as<float>().data();
  const float* from = x.as<float>().data();
  for (Index t = rows.begin; t < rows.end; ++t, to += dim) {
    std::copy_n(from + ((b * x.extent(1) + t) * heads + h) * dim, dim, to);
  }
  return out;
}

/// Row h of x [H,...], as [1,n], of a bias [1,H,1,n] as [1,1,1,n].
Tensor head_row(const Tensor& x, Index heads, Index h, std::vector<Index> shape) {
  const Index n = x.elements() / heads;
  Tensor out = Tensor::unwritten(DType::kFloat32, std::move(shape));
  std::copy_n(x.as<float>().data() + h * n, n, out.as<float>().data());
  return out;
}

/// The bias that closes the cells that the mask closes: [1,1,rows,Tk], the given one [1,1,1,Tk]
/// included.
Tensor closing_bias(const Plane& plane, Range rows, const std::optional<Tensor>& given) {
  const Index keys = plane.keys();
  Tensor out = Tensor::unwritten(DType::kFloat32, {1, 1, rows.size(), keys});
  const auto cells = out.as<float>();
  std::ranges::fill(cells, kClosedLogit);
  plane.rows(rows, [&](Range equal, const Keys& open) {
    for (Index q = equal.begin; q < equal.end; ++q) {
      float* const row = cells.data() + (q - rows.begin) * keys;
      const auto set = [&](Index k) { row[k] = given ? given->as<float>()[as_size(k)] : 0.0F; };
      for (const Run& run : open.runs) {
        for (Index k = run.begin; k < run.end; ++k) set(k);
      }
      for (Index k = 0; open.is_words() && k < keys; ++k) {
        if ((open.words[as_size(k / 64)] >> (k % 64) & 1) != 0) set(k);
      }
    }
  });
  return out;
}

/// The softmax of some rows of a head: weights [rows, Tk] and lse [rows].
struct Band {
  Tensor weights, lse;

  std::span<float> row(Index r, Index keys) {
    return weights.as<float>().subspan(as_size(r * keys), as_size(keys));
  }
};

Band softmax_of(const KernelCall& call, Index b, Index h, Range rows) {
  const Index keys = call.key.extent(1), heads = call.query.extent(2);
  const Index key_head = call.key_heads[as_size(h)];
  const Tensor query = head_rows(call.query, b, h, rows);
  const Tensor key = head_rows(call.key, b, key_head, {0, keys});
  const Tensor no_value(DType::kFloat32, {1, keys, 1, 1});
  const PlanePtr& plane = call.mask.plane(b, h);
  const Mask mask =
      call.caps_closed ? full_mask(1, 1, rows.size(), keys) : Mask(plane->sliced(rows, {0, keys}));
  std::optional<Tensor> bias, sinks;
  if (call.bias) bias = head_row(*call.bias, heads, h, {1, 1, 1, keys});
  if (call.caps_closed) bias = closing_bias(*plane, rows, bias);
  if (call.sinks) sinks = head_row(*call.sinks, heads, h, {1, call.sinks->extent(1)});
  SoftmaxOptions options;
  options.scale = call.scale;
  options.soft_cap = call.soft_cap;
  const SoftmaxInputs inputs{.query = &query,
                             .key = &key,
                             .value = &no_value,
                             .mask = &mask,
                             .bias = bias ? &*bias : nullptr,
                             .sinks = sinks ? &*sinks : nullptr};
  Band out{softmax_weights(inputs, options), softmax_forward(inputs, options).lse};
  if (!call.fault) return out;
  for (Index q = rows.begin; q < rows.end; ++q) {
    const Index r = q - rows.begin;
    call.fault({b, h, q}, out.row(r, keys), out.lse.as<float>()[as_size(r)]);
  }
  return out;
}

/// Sums the values of a head under one row of weights, as kernels with an online softmax do: tile
/// after tile, each weight relative to the largest so far, and rounded.
void sum_values(const KernelCall& call, std::span<const float> weights, const float* values,
                std::span<float> out) {
  const auto keys = static_cast<Index>(weights.size());
  const Index tiles = ceil_div(keys, call.tile);
  float top = 0;
  std::ranges::fill(out, 0.0F);
  for (Index n = 0; n < tiles; ++n) {
    const Index tile = call.last_tile_first ? tiles - 1 - n : n;
    const Range part{tile * call.tile, std::min(keys, (tile + 1) * call.tile)};
    const auto inside = weights.subspan(as_size(part.begin), as_size(part.size()));
    const float largest = std::max(top, *std::ranges::max_element(inside));
    if (largest == 0) continue;
    if (largest > top && top > 0) {
      for (float& sum : out) sum *= top / largest;
    }
    top = largest;
    for (Index k = part.begin; k < part.end; ++k) {
      const float weight = weights[as_size(k)];
      if (weight == 0) continue;
      const float p = rounded_number(weight / top, call.weights);
      const float* const value = values + k * static_cast<Index>(out.size());
      for (std::size_t d = 0; d < out.size(); ++d) out[d] += p * value[d];
    }
  }
  for (float& sum : out) sum = rounded_number(sum * top, call.results);
}

/// Writes the results of some rows of a head.
void write_rows(const KernelCall& call, Band& band, Index b, Index h, Range rows,
                KernelResults& to) {
  const Index keys = call.key.extent(1), dim = call.value.extent(3);
  const Index heads = call.query.extent(2), queries = call.query.extent(1);
  const Tensor value = head_rows(call.value, b, call.key_heads[as_size(h)], {0, keys});
  for (Index q = rows.begin; q < rows.end; ++q) {
    const auto out =
        to.out.as<float>().subspan(as_size(((b * queries + q) * heads + h) * dim), as_size(dim));
    sum_values(call, band.row(q - rows.begin, keys), value.as<float>().data(), out);
    to.lse.as<float>()[as_size((b * heads + h) * queries + q)] =
        band.lse.as<float>()[as_size(q - rows.begin)];
  }
}

/// The share of a row's weight that was taken from keys, or given to keys, whichever is larger.
double moved_share(std::span<const float> right, std::span<const float> other) {
  double taken = 0, given = 0;
  for (std::size_t k = 0; k < right.size(); ++k) {
    const double change = static_cast<double>(other[k]) - static_cast<double>(right[k]);
    (change > 0 ? given : taken) += std::fabs(change);
  }
  return std::max(taken, given);
}

KernelResults unwritten_results(const KernelCall& call) {
  const Index batch = call.query.extent(0), queries = call.query.extent(1),
              heads = call.query.extent(2);
  return {Tensor::unwritten(DType::kFloat32, {batch, queries, heads, call.value.extent(3)}),
          Tensor::unwritten(DType::kFloat32, {batch, heads, queries})};
}

}  // namespace

Tensor rounded(const Tensor& tensor, DType dtype) {
  return astype(astype(tensor, dtype), DType::kFloat32);
}

KernelPair run_both(const KernelCall& right, const KernelCall& other) {
  const Index batch = right.query.extent(0), queries = right.query.extent(1),
              heads = right.query.extent(2), keys = right.key.extent(1);
  KernelPair out{unwritten_results(right), unwritten_results(other), {}};
  const Index height = std::clamp<Index>(kBandCells / std::max<Index>(keys, 1), 16, 512);
  const Index bands = ceil_div(queries, height);
  std::mutex guard;  // of out.moved
  parallel_for(batch * heads * bands, [&](Index n) {
    const Index b = n / bands / heads, h = n / bands % heads;
    const Range rows{n % bands * height, std::min(queries, (n % bands + 1) * height)};
    Band first = softmax_of(right, b, h, rows), second = softmax_of(other, b, h, rows);
    write_rows(right, first, b, h, rows, out.right);
    write_rows(other, second, b, h, rows, out.other);
    MovedWeight moved;
    for (Index q = rows.begin; q < rows.end; ++q) {
      const double share =
          moved_share(first.row(q - rows.begin, keys), second.row(q - rows.begin, keys));
      if (share > 0) ++moved.rows;
      if (share > moved.share) moved.share = share, moved.row = {b, h, q};
    }
    const std::lock_guard lock(guard);
    out.moved.rows += moved.rows;
    const auto before = [](const RowPlace& x, const RowPlace& y) {
      return std::tie(x.batch, x.head, x.query) < std::tie(y.batch, y.head, y.query);
    };
    const bool same = moved.share == out.moved.share && before(moved.row, out.moved.row);
    if (moved.share > out.moved.share || same) {
      out.moved.share = moved.share;
      out.moved.row = moved.row;
    }
  });
  return out;
}

}  // namespace maskctl::attention
