#include <cstring>
#include <span>

#include "gpu/hopper/probes.h"
#include "maskctl/attention/cuda/hopper/tensor_map.cuh"
#include "maskctl/attention/cuda/softmax/hopper/backward_consumer.cuh"
#include "maskctl/attention/cuda/warp_mma.cuh"

namespace hopper_probe {
namespace {

using namespace maskctl;
using namespace maskctl::attention;
using namespace maskctl::attention::cuda;
using namespace maskctl::attention::cuda::hopper;

constexpr int kThreads = 128, kDepth = 64;
constexpr int kPanelElements = 64;  // elements in a row of a panel

/// The stream and the GPU memory of one probe, a kernel that runs one building block by itself.
class Bench {
 public:
  template <class T>
  T* send(const std::vector<T>& x) {
    buffers_.emplace_back(x.size() * sizeof(T), stream_.get());
    copy_to_device(buffers_.back().data(), std::as_bytes(std::span(x)), stream_.get());
    return reinterpret_cast<T*>(buffers_.back().data());
  }
  template <class T>
  std::vector<T> fetch(const T* from, std::size_t n) {
    std::vector<T> x(n);
    copy_to_host(std::as_writable_bytes(std::span(x)), from, stream_.get());
    stream_.synchronize();
    return x;
  }
  template <class... P>
  void run(void (*kernel)(P...), std::size_t bytes, const std::type_identity_t<P>&... p) {
    launch("probe", kernel, 1, kThreads, bytes + kAtomBytes, stream_.get(), p...);
  }

 private:
  OwnStream stream_;
  std::vector<DeviceBuffer> buffers_;
};

/// The shared memory of a probe: panels, and a barrier of the copy engine.
template <int kBytes>
struct Memory {
  alignas(kAtomBytes) unsigned char panels[kBytes];
  Barrier done;
};
constexpr int kMostBoxBytes = 256 * kPanelRowBytes;

__device__ void copy(void* to, const void* from, int bytes) {
  for (int i = static_cast<int>(threadIdx.x); i < bytes / 16; i += kThreads) {
    static_cast<uint4*>(to)[i] = static_cast<const uint4*>(from)[i];
  }
}

// ------------------------------------------------------------------------------- the copy engine

__global__ void load_box_kernel(const __grid_constant__ CUtensorMap map, Corner at, int bytes,
                                unsigned char* out) {
  auto& s = block_memory<Memory<kMostBoxBytes>>();
  if (threadIdx.x == 0) s.done.init(1), fence_barriers();
  __syncthreads();
  if (threadIdx.x == 0) {
    s.done.arrive_expecting(bytes);
    hopper::load_box(s.panels, map, at, s.done, kEvictFirst);
  }
  s.done.wait(0);
  copy(out, s.panels, bytes);
}
__global__ void store_box_kernel(const __grid_constant__ CUtensorMap map, Corner at, int bytes,
                                 const unsigned char* panel) {
  auto& s = block_memory<Memory<kMostBoxBytes>>();
  copy(s.panels, panel, bytes);
  fence_shared_writes();
  __syncthreads();
  if (threadIdx.x != 0) return;
  hopper::store_box(s.panels, map, at);
  commit_stores();
  wait_for_stores<0>();
}
__global__ void load_bytes_kernel(const unsigned char* from, int bytes, unsigned char* out) {
  auto& s = block_memory<Memory<kMostBoxBytes>>();
  if (threadIdx.x == 0) s.done.init(1), fence_barriers();
  __syncthreads();
  if (threadIdx.x == 0) {
    s.done.arrive_expecting(bytes);
    hopper::load_bytes(s.panels, from, bytes, s.done);
  }
  s.done.wait(0);
  copy(out, s.panels, bytes);
}
/// Adds pieces of 64 x 64 floats, one after the other, to `sums` with the copy engine; each piece
/// is stored from the fragments of the threads.
__global__ void add_pieces_kernel(const float* pieces, int count, float* sums) {
  auto& s = block_memory<Memory<kPieceBytes>>();
  auto* const piece = reinterpret_cast<float*>(s.panels);
  const int thread = static_cast<int>(threadIdx.x);
  for (int n = 0; n < count; ++n) {
    float x[32];
    for (int i = 0; i < 32; ++i) {
      x[i] = pieces[n * kPieceFloats + fragment_row(thread, i) * 64 + fragment_column(thread, i)];
    }
    keep_piece(x, piece);
    fence_shared_writes();
    __syncthreads();
    if (thread == 0) {
      add_floats(sums, piece, kPieceBytes);
      commit_stores();
      wait_for_stores<0>();
    }
    __syncthreads();
  }
}
/// Writes a piece to `out` in row-major order.
__global__ void read_piece_kernel(const float* sums, float* out) {
  const int thread = static_cast<int>(threadIdx.x);
  float x[32] = {};
  add_piece(sums, x);
  for (int i = 0; i < 32; ++i)
    out[fragment_row(thread, i) * 64 + fragment_column(thread, i)] = x[i];
}

Corner corner_of(const Box& box) {
  const auto& [b, t, h, column] = box.corner;
  return {column, t, h, b};
}
CUtensorMap map_of(const Box& box, const void* array) {
  const auto& [b, t, h, d] = box.extents;
  return tensor_map({array, DType::kBFloat16, t * h * d, h * d, d}, b, t, h, d, box.rows);
}

// ----------------------------------------------------------------------------------- the products

template <class T>
__device__ T rounded(float x) {
  T y;
  store(x, &y);
  return y;
}

/// Fills the panels of an operand whose element (row, column) is at(row, column).
template <class T, class F>
__device__ void fill_panels(unsigned char* panels, int rows, int columns, F&& at) {
  for (int i = static_cast<int>(threadIdx.x); i < rows * columns; i += kThreads) {
    const int row = i / columns, column = i % columns;
    unsigned char* const panel = panels + column / kPanel * rows * kPanelRowBytes;
    *reinterpret_cast<T*>(panel + swizzled(row, column % kPanel)) = rounded<T>(at(row, column));
  }
}

template <class T, int n>
__global__ void multiply_kernel(const float* a, const float* b, float* d) {
  constexpr Product kProduct = kProducts[n];
  constexpr int kColumns = kProduct.columns, kABytes = 64 * kPanelRowBytes;
  constexpr bool kIsTransposedA = kProduct.a == Operand::kTransposed;
  constexpr bool kIsTransposedB = kProduct.b == Operand::kTransposed;
  auto& s = block_memory<Memory<kABytes + 256 * kPanelRowBytes>>();
  unsigned char* const of_b = s.panels + kABytes;
  const int thread = static_cast<int>(threadIdx.x);
  fill_panels<T>(s.panels, 64, 64, [&](int row, int column) {
    return kIsTransposedA ? a[column * kDepth + row] : a[row * kDepth + column];
  });
  if constexpr (kIsTransposedB) {
    fill_panels<T>(of_b, kDepth, kColumns,
                   [&](int row, int column) { return b[row * kColumns + column]; });
  } else {
    fill_panels<T>(of_b, kColumns, kDepth,
                   [&](int row, int column) { return b[column * kColumns + row]; });
  }
  std::uint32_t pairs[32];
  for (int i = 0; i < 16; ++i) {
    const float* const pair =
        a + fragment_row(thread, 2 * i) * kDepth + fragment_column(thread, 2 * i);
    pairs[i] = rounded_pair<T>(pair[0], pair[1]);
  }
  float sums[kColumns / 2];
#pragma unroll
  for (int i = 0; i < kColumns / 2; ++i) {
    sums[i] = d[fragment_row(thread, i) * kColumns + fragment_column(thread, i)];
  }
  fence_shared_writes();
  __syncthreads();
  const std::uint64_t a_at = kIsTransposedA ? transposed(shared_address(s.panels), kABytes)
                                            : k_major(shared_address(s.panels));
  const std::uint64_t b_at = kIsTransposedB
                                 ? transposed(shared_address(of_b), kDepth * kPanelRowBytes)
                                 : k_major(shared_address(of_b));
  pin(sums);
  wgmma_fence();
#pragma unroll
  for (int i = 0; i < kDepth / 16; ++i) {
    const std::uint64_t b_step = advanced(b_at, kIsTransposedB ? i * 16 * kPanelRowBytes : i * 32);
    if constexpr (kProduct.a == Operand::kRegisters) {
      wgmma<T, kColumns, kIsTransposedB>(sums, pairs + 4 * i, b_step, 1);
    } else {
      const std::uint64_t a_step =
          advanced(a_at, kIsTransposedA ? i * 16 * kPanelRowBytes : i * 32);
      wgmma<T, kColumns, kIsTransposedA, kIsTransposedB>(sums, a_step, b_step, 1);
    }
  }
  wgmma_commit();
  wgmma_wait<0>();
  pin(sums);
#pragma unroll
  for (int i = 0; i < kColumns / 2; ++i) {
    d[fragment_row(thread, i) * kColumns + fragment_column(thread, i)] = sums[i];
  }
}

using MultiplyKernel = void (*)(const float*, const float*, float*);
template <class T, std::size_t... n>
MultiplyKernel multiply_kernel_of(int which, std::index_sequence<n...>) {
  static constexpr MultiplyKernel kAll[] = {multiply_kernel<T, static_cast<int>(n)>...};
  return kAll[which];
}

template <class T, bool kTurned>
__global__ void multiply_in_warp_kernel(const float* a, const float* b, float* d) {
  if (threadIdx.x >= 32) return;
  auto& s = block_memory<Memory<kAtomBytes>>();
  const int lane = static_cast<int>(threadIdx.x), row = lane / 4, column = lane % 4 * 2;
  for (int i = lane; i < 16 * 16; i += 32) {
    const int from = kTurned ? i % 16 * 16 + i / 16 : i;
    reinterpret_cast<T*>(s.panels)[i] = rounded<T>(a[from]);
  }
  __syncwarp();
  // The registers of `a` hold its four 8 x 8 matrices column by column: those at rows 0 and 8 of
  // the first 8 columns, then those of the last 8. This lane addresses row lane % 8 of one of them.
  const int matrix = lane / 8, line = lane % 8 + (kTurned ? matrix / 2 : matrix % 2) * 8;
  const int half = kTurned ? matrix % 2 : matrix / 2;
  std::uint32_t a_pairs[4], b_pairs[2];
  load_matrices<kTurned>(a_pairs, shared_address(s.panels) + line * 32 + half * 16);
  for (int i = 0; i < 2; ++i) {
    const float* const pair = b + (i * 8 + row) * 8 + column;
    b_pairs[i] = cuda::transposed(rounded_pair<T>(pair[0], pair[1]));
  }
  float sums[4];
  const auto at = [&](int i) { return (row + i / 2 * 8) * 8 + column + i % 2; };
  for (int i = 0; i < 4; ++i) sums[i] = d[at(i)];
  cuda::multiply<T>(sums, a_pairs, b_pairs);
  for (int i = 0; i < 4; ++i) d[at(i)] = sums[i];
}

// -------------------------------------------------------------------------------------- fragments

template <int kColumns>
__global__ void store_fragment_kernel(const float* x, StoredFragment to, unsigned char* out) {
  auto& s = block_memory<Memory<kMostBoxBytes>>();
  const int thread = static_cast<int>(threadIdx.x), panel_bytes = to.panel_rows * kPanelRowBytes;
  const int bytes = (to.column + kColumns + kPanel - 1) / kPanel * panel_bytes;
  for (int i = thread; i < bytes; i += kThreads) s.panels[i] = 0;
  std::uint32_t pairs[kColumns / 4];
#pragma unroll
  for (int i = 0; i < kColumns / 4; ++i) {
    const float* const pair =
        x + fragment_row(thread, 2 * i) * kColumns + fragment_column(thread, 2 * i);
    pairs[i] = rounded_pair<__nv_bfloat16>(pair[0], pair[1]);
  }
  __syncthreads();
  hopper::store_fragment(s.panels, panel_bytes, to.row, to.column, pairs);
  __syncthreads();
  copy(out, s.panels, bytes);
}

__global__ void store_piece_kernel(const float* x, StoredPiece to, __nv_bfloat16* out) {
  const int thread = static_cast<int>(threadIdx.x);
  float piece[32];
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    piece[i] = x[fragment_row(thread, i) * 64 + fragment_column(thread, i)];
  }
  hopper::store_piece(piece, to.factor, out, to.stride, to.rows, to.columns);
}

__global__ void open_cells_kernel(const std::uint64_t* words, unsigned char* open) {
  const int thread = static_cast<int>(threadIdx.x);
  std::uint32_t own[2];
  for (int side = 0; side < 2; ++side) {
    own[side] = own_columns(words[fragment_row(thread, 2 * side)]);
  }
  for (int i = 0; i < 32; ++i) {
    open[fragment_row(thread, i) * 64 + fragment_column(thread, i)] = is_open(own[i / 2 % 2], i);
  }
}

}  // namespace

Bits load_box(const Box& box, const Bits& array) {
  Bench bench;
  const int bytes = box.rows * kPanelRowBytes;
  const CUtensorMap map = map_of(box, bench.send(array));
  auto* const out = bench.send(Bits(as_size(bytes) / 2));
  bench.run(load_box_kernel, sizeof(Memory<kMostBoxBytes>), map, corner_of(box), bytes,
            reinterpret_cast<unsigned char*>(out));
  return bench.fetch(out, as_size(bytes) / 2);
}

Bits store_box(const Box& box, const Bits& array, const Bits& panel) {
  Bench bench;
  auto* const there = bench.send(array);
  bench.run(store_box_kernel, sizeof(Memory<kMostBoxBytes>), map_of(box, there), corner_of(box),
            box.rows * kPanelRowBytes, reinterpret_cast<const unsigned char*>(bench.send(panel)));
  return bench.fetch(there, array.size());
}

Bits load_bytes(const Bits& bytes) {
  Bench bench;
  auto* const out = bench.send(Bits(bytes.size()));
  bench.run(load_bytes_kernel, sizeof(Memory<kMostBoxBytes>),
            reinterpret_cast<const unsigned char*>(bench.send(bytes)),
            static_cast<int>(bytes.size()) * 2, reinterpret_cast<unsigned char*>(out));
  return bench.fetch(out, bytes.size());
}

std::vector<float> multiply(int n, DType dtype, const std::vector<float>& a,
                            const std::vector<float>& b, const std::vector<float>& start) {
  Bench bench;
  auto* const d = bench.send(start);
  with_16_bits(dtype, [&]<class T>(std::type_identity<T>) {
    bench.run(multiply_kernel_of<T>(n, std::make_index_sequence<std::size(kProducts)>()),
              sizeof(Memory<(64 + 256) * kPanelRowBytes>), bench.send(a), bench.send(b), d);
  });
  return bench.fetch(d, start.size());
}

std::vector<float> multiply_in_warp(DType dtype, bool is_turned, const std::vector<float>& a,
                                    const std::vector<float>& b, const std::vector<float>& start) {
  Bench bench;
  auto* const d = bench.send(start);
  with_16_bits(dtype, [&]<class T>(std::type_identity<T>) {
    bench.run(is_turned ? multiply_in_warp_kernel<T, true> : multiply_in_warp_kernel<T, false>,
              sizeof(Memory<kAtomBytes>), bench.send(a), bench.send(b), d);
  });
  return bench.fetch(d, start.size());
}

Bits store_fragment(const StoredFragment& to, const std::vector<float>& x) {
  Bench bench;
  const int panels = (to.column + to.columns + kPanel - 1) / kPanel;
  auto* const out = bench.send(Bits(as_size(panels * to.panel_rows * kPanelElements)));
  const auto kernel = to.columns == 32   ? store_fragment_kernel<32>
                      : to.columns == 64 ? store_fragment_kernel<64>
                                         : store_fragment_kernel<128>;
  bench.run(kernel, sizeof(Memory<kMostBoxBytes>), bench.send(x), to,
            reinterpret_cast<unsigned char*>(out));
  return bench.fetch(out, as_size(panels * to.panel_rows * kPanelElements));
}

Bits store_piece(const StoredPiece& to, const std::vector<float>& x) {
  Bench bench;
  const std::size_t n = as_size(64 * to.stride);
  auto* const out = bench.send(Bits(n));
  bench.run(store_piece_kernel, 0, bench.send(x), to, reinterpret_cast<__nv_bfloat16*>(out));
  return bench.fetch(out, n);
}

std::vector<float> add_pieces(const std::vector<std::vector<float>>& pieces) {
  Bench bench;
  std::vector<float> all;
  for (const auto& piece : pieces) all.insert(all.end(), piece.begin(), piece.end());
  auto* const sums = bench.send(std::vector<float>(kPieceFloats));
  auto* const out = bench.send(std::vector<float>(kPieceFloats));
  bench.run(add_pieces_kernel, sizeof(Memory<kPieceBytes>), bench.send(all),
            static_cast<int>(pieces.size()), sums);
  bench.run(read_piece_kernel, 0, sums, out);
  return bench.fetch(out, kPieceFloats);
}

std::vector<bool> open_cells(const std::array<std::uint64_t, 64>& words) {
  Bench bench;
  auto* const open = bench.send(std::vector<unsigned char>(64 * 64));
  bench.run(open_cells_kernel, 0, bench.send(std::vector(words.begin(), words.end())), open);
  const auto seen = bench.fetch(open, 64 * 64);
  return {seen.begin(), seen.end()};
}

void replay(Stream stream, const std::function<void()>& enqueue) {
  cudaGraph_t captured = nullptr;
  cudaGraphExec_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  enqueue();
  check(cudaStreamEndCapture(stream, &captured), "cudaStreamEndCapture");
  check(cudaGraphInstantiate(&graph, captured, 0), "cudaGraphInstantiate");
  check(cudaGraphLaunch(graph, stream), "cudaGraphLaunch");
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  cudaGraphExecDestroy(graph);
  cudaGraphDestroy(captured);
}

}  // namespace hopper_probe
