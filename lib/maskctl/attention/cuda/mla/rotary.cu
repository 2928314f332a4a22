// Kernels of latent attention that append rotary parts to heads or take them off, and other small
// ones. The bandwidth of memory limits them all.
#include "maskctl/attention/cuda/launch.cuh"
#include "maskctl/attention/cuda/mla/rotary.h"

namespace maskctl::attention::cuda {
namespace {

constexpr int kThreads = 256;

unsigned blocks_of(Index n) { return static_cast<unsigned>(ceil_div(n, kThreads)); }

/// to[r, c] = from[r / repeat, c] for c < columns. A pitch is the distance between two rows of an
/// array. Pitches and columns are counted in Units.
template <class Unit>
__global__ void __launch_bounds__(kThreads)
    copy_columns(const Unit* from, Index from_pitch, Index repeat, Unit* to, Index to_pitch,
                 Index columns, Index rows) {
  const Index n = Index{blockIdx.x} * kThreads + threadIdx.x;
  if (n >= rows * columns) return;
  const Index r = n / columns, c = n % columns;
  to[r * to_pitch + c] = from[r / repeat * from_pitch + c];
}

/// Some columns of a matrix: where they begin in its first row, the distance between rows in bytes,
/// and the bytes of these columns in a row.
struct Columns {
  const std::byte* begin;
  Index pitch, bytes;
};

template <class Unit>
bool is_whole(const Columns& x) {
  constexpr Index kBytes = sizeof(Unit);
  return reinterpret_cast<std::uintptr_t>(x.begin) % kBytes == 0 && x.pitch % kBytes == 0 &&
         x.bytes % kBytes == 0;
}

void copy_columns(const Columns& from, Index repeat, const Columns& to, Index rows, Stream stream) {
  const auto with = [&]<class Unit>(Unit) {
    constexpr Index kBytes = sizeof(Unit);
    const Index columns = to.bytes / kBytes;
    launch("columns of heads", copy_columns<Unit>, blocks_of(rows * columns), kThreads, 0, stream,
           reinterpret_cast<const Unit*>(from.begin), from.pitch / kBytes, repeat,
           reinterpret_cast<Unit*>(const_cast<std::byte*>(to.begin)), to.pitch / kBytes, columns,
           rows);
  };
  if (is_whole<uint4>(from) && is_whole<uint4>(to)) return with(uint4());
  with(std::uint16_t());  // every dtype takes a multiple of 2 bytes
}

/// Columns [first, first + count) of an array [..,H,X], which has a row for each head of a token.
Columns columns_of(const TensorView& array, Index first, Index count) {
  const Index bytes = size_bytes(array.dtype());
  return {array.data() + first * bytes, array.extent(array.rank() - 1) * bytes, count * bytes};
}

Index rows_of(const TensorView& heads) {
  return heads.extent(0) * heads.extent(1) * heads.extent(2);
}

/// shared[t, p] = the sum over the heads of a token of wide[t, head, first + p].
__global__ void __launch_bounds__(kThreads)
    sum_heads(AnyArray wide, Index heads, Index pitch, Index first, Index count, AnyResult shared,
              Index tokens) {
  const Index n = Index{blockIdx.x} * kThreads + threadIdx.x;
  if (n >= tokens * count) return;
  const Index begin = n / count * heads * pitch + first + n % count;
  float sum = 0;
  with_type(wide.dtype, [&]<class T>(const T*) {
    const T* const from = static_cast<const T*>(wide.data) + begin;
#pragma unroll 8
    for (Index h = 0; h < heads; ++h) sum += to_float(from[h * pitch]);
  });
  put(shared, n, sum);
}

/// Whether an element of the row of the block's token is not 0. Threads read kThreads columns at a
/// time, and stop once they find such an element.
__device__ bool has_any(const AnyArray& array, Index columns) {
  for (Index first = 0; first < columns; first += kThreads) {
    const Index c = first + threadIdx.x;
    const bool differs = c < columns && element(array, blockIdx.x * columns + c) != 0;
    if (__syncthreads_or(differs)) return true;
  }
  return false;
}

/// Does what take_seen() in rotary.h says: each block of threads copies one token.
__global__ void __launch_bounds__(kThreads)
    keep_seen(AnyArray latent, Index rank, AnyArray d_key, Index key_columns, AnyArray d_value,
              Index value_columns, AnyResult to) {
  const bool is_seen = has_any(d_key, key_columns) || has_any(d_value, value_columns);
  for (Index i = threadIdx.x; i < rank; i += kThreads) {
    const Index at = blockIdx.x * rank + i;
    put(to, at, is_seen ? element(latent, at) : 0);
  }
}

__global__ void __launch_bounds__(kThreads) add_up(AnyArray a, AnyArray b, Index n, AnyResult sum) {
  const Index i = Index{blockIdx.x} * kThreads + threadIdx.x;
  if (i < n) put(sum, i, element(a, i) + element(b, i));
}

}  // namespace

void append_shared(const TensorView& heads, const TensorView& shared, const MutableTensorView& wide,
                   Stream stream) {
  const Index x = heads.extent(3), p = shared.extent(2), rows = rows_of(heads);
  copy_columns(columns_of(heads, 0, x), 1, columns_of(wide, 0, x), rows, stream);
  copy_columns(columns_of(shared, 0, p), heads.extent(2), columns_of(wide, x, p), rows, stream);
}

void split_shared(const TensorView& wide, const MutableTensorView& heads,
                  const MutableTensorView& shared, Stream stream) {
  const Index x = heads.extent(3), p = shared.extent(2);
  const Index tokens = shared.extent(0) * shared.extent(1);
  copy_columns(columns_of(wide, 0, x), 1, columns_of(heads, 0, x), rows_of(heads), stream);
  launch("sums over heads", sum_heads, blocks_of(tokens * p), kThreads, 0, stream, any_array(wide),
         wide.extent(2), x + p, x, p, any_result(shared), tokens);
}

void take_seen(const TensorView& latent, const TensorView& d_key, const TensorView& d_value,
               const MutableTensorView& to, Stream stream) {
  launch("latent of seen tokens", keep_seen,
         static_cast<unsigned>(latent.extent(0) * latent.extent(1)), kThreads, 0, stream,
         any_array(latent), latent.extent(2), any_array(d_key), d_key.extent(2) * d_key.extent(3),
         any_array(d_value), d_value.extent(2) * d_value.extent(3), any_result(to));
}

void add(const TensorView& a, const TensorView& b, const MutableTensorView& sum, Stream stream) {
  launch("sum of two arrays", add_up, blocks_of(a.elements()), kThreads, 0, stream, any_array(a),
         any_array(b), a.elements(), any_result(sum));
}

}  // namespace maskctl::attention::cuda
