// Random batches of sequences in the pages of a cache, and their reference: softmax attention over
// the tokens of each sequence.
#pragma once

#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "maskctl/attention/operations/paged/ragged_page_attention.h"
#include "maskctl/attention/softmax/softmax.h"
#include "maskctl/mask/planes/bands.h"
#include "support/backends.h"
#include "support/catch_compat.h"
#include "support/tensors.h"

namespace maskctl::attention::paging {

// Names that all tests of paged attention use.
using namespace test;
using Catch::Matchers::Contains;

inline DType any_float(RandomTensors& r) {
  return std::array{DType::kFloat32, DType::kFloat16, DType::kBFloat16}[as_size(r.below(3))];
}

/// Returns the tolerance for results that are computed in f32 and rounded once to the dtype.
inline double tolerance(DType dtype) {
  if (dtype == DType::kFloat32) return 2e-6;
  return dtype == DType::kFloat16 ? 1e-3 : 8e-3;
}

inline void put(Tensor& array, Index i, float value) {
  if (array.dtype() == DType::kFloat32) {
    array.as<float>()[as_size(i)] = value;
  } else {
    array.as<std::uint16_t>()[as_size(i)] =
        array.dtype() == DType::kFloat16 ? half_from_float(value) : bfloat16_from_float(value);
  }
}

inline float get(const Tensor& array, Index i) {
  if (array.dtype() == DType::kFloat32) return array.as<float>()[as_size(i)];
  const std::uint16_t bits = array.as<std::uint16_t>()[as_size(i)];
  return array.dtype() == DType::kFloat16 ? float_from_half(bits) : float_from_bfloat16(bits);
}

/// Sequences whose pages are assigned at random. Keys and values are stored by token; the caches of
/// every layout are filled from them, and hold NaN in all unused slots.
struct Batch {
  DType dtype = DType::kFloat32;
  Index q_heads = 0, kv_heads = 0, dim = 0, page_size = 0, pages = 0, width = 0;
  std::vector<std::int32_t> lengths, starts{0}, table;
  std::vector<Tensor> keys, values;  // [length,Hkv,D] for each sequence
  Tensor queries;                    // [T,Hq,D], of all sequences

  Index count() const { return static_cast<Index>(lengths.size()); }
  Index rows() const { return queries.extent(0); }

  /// Calls f(page, slot, sequence, token) for each token of each sequence.
  template <class F>
  void for_each_token(F&& f) const {
    for (Index n = 0; n < count(); ++n) {
      for (Index p = 0; p < lengths[as_size(n)]; ++p) {
        f(table[as_size(n * width + p / page_size)], p % page_size, n, p);
      }
    }
  }

  /// Makes a cache of NaN, and copies the tokens into it: element x of head u goes to index
  /// place(page, slot, u, x).
  template <class Place>
  Tensor cache(std::vector<Index> shape, const std::vector<Tensor>& tokens, Place&& place) const {
    Tensor out(dtype, std::move(shape));
    for (Index i = 0; i < out.elements(); ++i) put(out, i, std::nanf(""));
    fill(out, tokens, place);
    return out;
  }
  template <class Place>
  void fill(Tensor& out, const std::vector<Tensor>& tokens, Place&& place) const {
    for_each_token([&](Index page, Index slot, Index n, Index p) {
      for (Index u = 0; u < kv_heads; ++u) {
        for (Index x = 0; x < dim; ++x) {
          put(out, place(page, slot, u, x), get(tokens[as_size(n)], (p * kv_heads + u) * dim + x));
        }
      }
    });
  }
  Tensor heads_first(const std::vector<Tensor>& tokens) const {
    return cache({pages, kv_heads, page_size, dim}, tokens,
                 [this](Index page, Index slot, Index u, Index x) {
                   return ((page * kv_heads + u) * page_size + slot) * dim + x;
                 });
  }
  Tensor tokens_first(const std::vector<Tensor>& tokens) const {
    return cache({pages, page_size, kv_heads, dim}, tokens,
                 [this](Index page, Index slot, Index u, Index x) {
                   return ((page * page_size + slot) * kv_heads + u) * dim + x;
                 });
  }
  /// Makes a cache in which key heads and value heads alternate; a head has `lanes` elements,
  /// perhaps more than D.
  Tensor fused(std::vector<Index> shape, Index lanes) const {
    const auto place = [this, lanes](Index v) {
      return [this, lanes, v](Index page, Index slot, Index u, Index x) {
        return ((page * page_size + slot) * 2 * kv_heads + 2 * u + v) * lanes + x;
      };
    };
    Tensor out = cache(std::move(shape), keys, place(0));
    fill(out, values, place(1));
    return out;
  }
  Tensor interleaved() const { return fused({pages, page_size, 2 * kv_heads, dim}, dim); }

  Tensor lens() const { return i32({count()}, lengths); }
  Tensor tables() const { return i32({count(), width}, table); }
  Tensor start_loc() const { return i32({count() + 1}, starts); }
};

/// Draws sequences of up to `longest` tokens, the last of which, up to `most_rows`, are queries.
inline Batch batch(RandomTensors& r, Index longest, Index most_rows) {
  Batch b;
  b.dtype = any_float(r);
  b.kv_heads = 1 + r.below(3), b.q_heads = b.kv_heads * (1 + r.below(5));
  b.dim = 1 + r.below(40), b.page_size = 1 + r.below(20);
  const Index count = 1 + r.below(4);
  for (Index n = 0; n < count; ++n) {
    const Index length = r.chance(0.1) ? 0 : 1 + r.below(longest);
    b.lengths.push_back(static_cast<std::int32_t>(length));
    const Index rows = std::min(r.below(most_rows + 1), length);
    b.starts.push_back(b.starts.back() + static_cast<std::int32_t>(rows));
    b.keys.push_back(r.normal({length, b.kv_heads, b.dim}, b.dtype));
    b.values.push_back(r.normal({length, b.kv_heads, b.dim}, b.dtype));
    b.width = std::max(b.width, ceil_div(length, b.page_size));
  }
  b.width += r.below(2);
  b.pages = 1 + count * b.width;
  std::vector<std::int32_t> free;
  for (Index page = 0; page < b.pages; ++page) free.push_back(static_cast<std::int32_t>(page));
  for (Index n = 0; n < count; ++n) {
    const Index used = ceil_div(b.lengths[as_size(n)], b.page_size);
    for (Index i = 0; i < b.width; ++i) {
      const auto drawn = free.begin() + r.below(static_cast<Index>(free.size()));
      b.table.push_back(i < used ? *drawn : (r.chance(0.5) ? -1 : 1 << 30));
      if (i < used) free.erase(drawn);
    }
  }
  b.queries = r.normal({b.starts.back() + r.below(3), b.q_heads, b.dim}, b.dtype);
  return b;
}

struct Rules {
  std::optional<double> scale, soft_cap;
  std::optional<Index> window;
  std::optional<Tensor> sinks;
};

inline Rules rules(RandomTensors& r, const Batch& b, bool sinks) {
  Rules rules;
  if (r.chance(0.3)) rules.scale = 0.4;
  if (r.chance(0.3)) rules.soft_cap = 1.5;
  if (r.chance(0.3)) rules.window = 1 + r.below(30);
  if (sinks && r.chance(0.4)) {
    const Index n = 1 + r.below(3);
    rules.sinks =
        r.chance(0.3) ? r.normal({n}) : r.normal({r.chance(0.5) ? b.q_heads : b.kv_heads, n});
  }
  return rules;
}

/// Computes float64 softmax attention of each sequence by itself.
inline Tensor gathered_twin(const Batch& b, const Rules& rules) {
  Tensor out(b.dtype, b.queries.shape());
  const Index row = b.q_heads * b.dim, bytes = size_bytes(b.dtype);
  for (Index n = 0; n < b.count(); ++n) {
    const Index begin = b.starts[as_size(n)], rows = b.starts[as_size(n) + 1] - begin;
    const Index length = b.lengths[as_size(n)];
    if (rows == 0) continue;
    Tensor query(b.dtype, {1, rows, b.q_heads, b.dim});
    std::copy_n(b.queries.bytes().begin() + begin * row * bytes, rows * row * bytes,
                query.bytes().begin());
    Tensor key = b.keys[as_size(n)], value = b.values[as_size(n)];
    key.reshape({1, length, b.kv_heads, b.dim});
    value.reshape({1, length, b.kv_heads, b.dim});
    const Index last = length - rows;
    const Mask mask(
        diagonal_band(rows, length, rules.window ? last + 1 - *rules.window : -kUnbounded, last));
    SoftmaxOptions options;
    options.scale = rules.scale, options.soft_cap = rules.soft_cap;
    options.context.backend = Backend::kReference;
    const SoftmaxResult result = softmax_forward(
        {&query, &key, &value, &mask, nullptr, rules.sinks ? &*rules.sinks : nullptr}, options);
    std::copy(result.out.bytes().begin(), result.out.bytes().end(),
              out.bytes().begin() + begin * row * bytes);
  }
  return out;
}

inline Tensor ragged(const Batch& b, const Rules& rules, Backend backend) {
  const Tensor pages = b.interleaved(), lens = b.lens(), tables = b.tables(),
               starts = b.start_loc();
  RaggedPageAttentionInputs in{&b.queries, &pages, &lens, &tables, &starts};
  if (rules.sinks) in.softmax_aux = &*rules.sinks;
  return ragged_page_attention(in, {.softmax_scale = rules.scale,
                                    .logits_soft_cap = rules.soft_cap,
                                    .sliding_window = rules.window,
                                    .context = {.backend = backend}});
}

}  // namespace maskctl::attention::paging
