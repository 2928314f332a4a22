// Finds the prompts of a call, copies their keys and values out of their pages, and has the kernels
// of softmax/hopper/ attend to them.
#include <algorithm>

#include "maskctl/attention/cuda/block_sum.cuh"
#include "maskctl/attention/cuda/paged/prompts/attend.cuh"
#include "maskctl/attention/cuda/paged/prompts/tiles.cuh"
#include "maskctl/attention/cuda/paged/units.h"
#include "maskctl/attention/cuda/softmax/hopper/forward.h"

namespace maskctl::attention::cuda {
namespace {

constexpr int kPlacers = 512, kCopiers = 256;  // threads per block of the two kernels below

/// Reserves room for the copied tokens of each prompt, in the order of the sequences. A prompt is a
/// sequence of at least kPromptRows rows; if no room is left for it, it is decoded instead. Must be
/// launched with one block.
__global__ void place_prompts(const PagedCall c, const Source source, const Prompts p) {
  for (Index tile = threadIdx.x; tile < p.tokens / kTile; tile += kPlacers) {
    p.owners[tile] = static_cast<int>(Prompts::kNone);
  }
  __syncthreads();
  Index used = 0;
  for (Index first = 0; first < source.arrays.sequences; first += kPlacers) {
    const Index n = first + threadIdx.x;
    PagedSequence s;
    Index shift = 0, room = 0, all = 0;
    if (n < source.arrays.sequences) {
      const SourceSequence checked = source.checked(c, n);
      s = checked.sequence;
      if (checked.is_valid && s.rows.size() >= kPromptRows) {
        const Range read = c.read(s);
        shift = prompt_shift(s, read), room = prompt_tokens(s, read);
      }
    }
    const Index begin = used + sum_before<kPlacers>(room, all);
    used += all;
    if (n >= source.arrays.sequences) continue;
    const bool has_room = room > 0 && begin + room <= p.tokens;
    p.begins[n] = has_room ? begin + shift : Prompts::kNone, p.are_odd[n] = 0;
    for (Index tile = begin / kTile; has_room && tile < (begin + room) / kTile; ++tile) {
      p.owners[tile] = static_cast<int>(n);
    }
  }
}

/// Whether one of eight 16-bit values is infinite or NaN.
__device__ bool is_odd(const uint4& values, std::uint32_t exponent) {
  bool odd = false;
  for (const std::uint32_t pair : {values.x, values.y, values.z, values.w}) {
    const std::uint32_t high = exponent << 16;
    odd |= (pair & exponent) == exponent || (pair & high) == high;
  }
  return odd;
}

/// Where copy_pages() copies the keys and values of `heads` key heads, from head `first` on: arrays
/// [head, token, D]. Each block copies 64 tokens of a head, with zeros where a prompt has no token.
struct PageCopy {
  Index first, heads;
  uint4 *keys, *values;
  std::uint32_t exponent;  // the bits that are the exponent in a 16-bit value
};
__global__ void __launch_bounds__(kCopiers)
    copy_pages(const PagedCall c, const Source source, const Prompts p, const PageCopy copy) {
  constexpr int kElements = kUnitBytes / 2;
  const Index tile = blockIdx.x / copy.heads, head = blockIdx.x % copy.heads;
  const int n = p.owners[tile];
  if (n == Prompts::kNone) return;
  const PagedSequence s = source[n];
  const Range read = c.read(s);
  const unsigned units = static_cast<unsigned>(c.dim) / kElements;
  const unsigned size = static_cast<unsigned>(c.page_size);
  const auto* const keys = reinterpret_cast<const uint4*>(c.keys);
  const auto* const values = reinterpret_cast<const uint4*>(c.values);
  bool odd = false;
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < kTile * units; i += kCopiers) {
    const Index token = tile * kTile + i / units, position = read.begin + token - p.begins[n];
    uint4 key{}, value{};
    if (read.contains(position)) {
      const unsigned at = static_cast<unsigned>(position);
      const Index element = c.tables[s.table + at / size] * c.page_stride +
                            at % size * c.slot_stride + (copy.first + head) * c.head_stride;
      key = keys[element / kElements + i % units], value = values[element / kElements + i % units];
      if (is_odd(value, copy.exponent)) odd = true, value = {};
    }
    const Index to = (head * p.tokens + token) * units + i % units;
    copy.keys[to] = key, copy.values[to] = value;
  }
  if (__syncthreads_or(odd) && threadIdx.x == 0) atomicOr(p.are_odd + n, 1);
}

AnyArray from_element(AnyArray array, Index first) {
  if (!array.data) return array;
  return {static_cast<const std::byte*>(array.data) + first * size_bytes(array.dtype), array.dtype};
}

/// The arguments of hopper::forward() for the key heads that `copy` has: the queries attend to the
/// copied keys and values.
SoftmaxParams attention_of(const PagedCall& c, const PageCopy& copy, Index tokens,
                           const MaskView& mask) {
  SoftmaxParams p;
  const Index q_heads = copy.heads * c.group, first = copy.first * c.group;
  p.d = {1, c.rows, tokens, q_heads, copy.heads, c.dim, c.dim};
  const AnyArray queries = from_element(c.queries, first * c.dim);
  const Index row = c.q_heads * c.dim;
  p.query = {queries.data, queries.dtype, c.rows * row, row, c.dim};
  p.key = {copy.keys, queries.dtype, copy.heads * tokens * c.dim, c.dim, tokens * c.dim};
  p.value = p.key, p.value.data = copy.values;
  p.by_query = mask;
  p.scale = c.scale, p.soft_cap = c.soft_cap;
  p.sinks = from_element(c.sinks, first / c.heads_of_sinks * c.sinks_of_head);
  p.sink_count = c.sinks_of_head;
  p.heads_of_sinks = c.heads_of_sinks == c.q_heads ? 0 : c.heads_of_sinks;
  return p;
}

bool is_unit(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % kUnitBytes == 0; }

void attend_heads(Workspace& workspace, const PagedCall& c, const PageCopy& copy, Index tokens,
                  const MaskView& mask, const hopper::TileRowOrder& order, AnyResult out) {
  const SoftmaxParams p = attention_of(c, copy, tokens, mask);
  HeadsView results = p.query;
  results.data =
      static_cast<std::byte*>(out.data) + copy.first * c.group * c.dim * size_bytes(out.dtype);
  const Workspace::Scope scope(workspace);
  float* const lse = workspace.take<float>(p.d.q_heads * c.rows);
  hopper::forward(workspace, p, order, nullptr, {results, lse, c.value_scale});
}

}  // namespace

Prompts attend_prompts(Workspace& workspace, const PagedProblem& problem, const PagedCall& call,
                       const PagedPlan& plan, const Source& source, AnyResult out) {
  const auto [tokens, are_short] = plan.prompts(problem);
  if (tokens == 0 || !is_unit(call.queries.data) || !is_unit(out.data) ||
      out.dtype != call.queries.dtype) {
    return {};
  }
  const Index sequences = plan.arrays().sequences;
  const Prompts prompts{tokens, workspace.take<Index>(sequences),
                        workspace.take<int>(tokens / kTile), workspace.take<int>(sequences)};
  const Stream stream = workspace.stream();
  launch("place_prompts", place_prompts, 1, kPlacers, 0, stream, call, source, prompts);
  const Workspace::Scope scope(workspace);
  const MaskView mask = prompt_tiles(workspace, call, source, prompts);
  Dims dims{1, call.rows, tokens, call.q_heads, call.kv_heads, call.dim, call.dim};
  const hopper::TileRowOrder order = hopper::forward_order(workspace, mask, dims, are_short);

  const Index units_of_head = tokens * call.dim * 2 / kUnitBytes;
  const Index at_once =
      std::clamp<Index>(kMostCopiedBytes / (2 * kUnitBytes * units_of_head), 1, call.kv_heads);
  PageCopy copy{0, 0, workspace.take<uint4>(at_once * units_of_head),
                workspace.take<uint4>(at_once * units_of_head),
                out.dtype == DType::kFloat16 ? 0x7c00u : 0x7f80u};
  for (; copy.first < call.kv_heads; copy.first += copy.heads) {
    copy.heads = std::min(at_once, call.kv_heads - copy.first);
    launch("copy_pages", copy_pages, static_cast<unsigned>(tokens / kTile * copy.heads), kCopiers,
           0, stream, call, source, prompts, copy);
    attend_heads(workspace, call, copy, tokens, mask, order, out);
  }
  return prompts;
}

}  // namespace maskctl::attention::cuda
