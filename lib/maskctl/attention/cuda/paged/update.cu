// Writes new keys and values into the pages of a cache. A block takes some rows of keys, or of
// values. It looks through all sequences for the slots of these rows, then its threads copy units
// of 16 bytes, or smaller units where addresses or extents are not multiples of 16 bytes.
#include <algorithm>
#include <initializer_list>

#include "maskctl/attention/cuda/gpus.h"
#include "maskctl/attention/cuda/paged/source.cuh"
#include "maskctl/attention/cuda/paged/units.h"
#include "maskctl/attention/cuda/paged/update.h"

namespace maskctl::attention::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kAtOnce = 4;                     // units that a thread reads before it writes any
constexpr Index kUnitsOfBlock = 8 * kThreads;  // units per block, unless one row has more
constexpr Index kMostUnits = Index{1} << 31;   // rows must have fewer units: indices have 32 bits
constexpr Index kNowhere = -1;

/// Keys or values: the array of new rows, and the array of the cache.
struct Copied {
  const std::byte* from;
  std::byte* to;
};

struct Update {
  Copied keys, values;
  Index slot_bytes, page_bytes, head_bytes;  // from a slot, page or head of the cache to the next
  Index rows_of_block;
  unsigned heads;
  unsigned read, written;  // units of a head in `from` and in `to`; the surplus becomes 0
};

/// Where head 0 of a row of the sequence begins in the cache, in bytes; kNowhere if the row has no
/// position in the sequence's range of keys.
__device__ Index slot_of(const PagedCall& c, const Update& u, const PagedSequence& s, Index row) {
  const Index position = s.keys.end - s.rows.end + row;
  if (!s.keys.contains(position)) return kNowhere;
  const Index page = c.tables[s.table + position / c.page_size];
  return page * u.page_bytes + position % c.page_size * u.slot_bytes;
}

/// Sets slots[i] to the slot_of() row i of the block; kNowhere for rows without a good sequence.
__device__ void find_slots(const PagedCall& c, const Source& source, const Update& u, Range rows,
                           Index* slots) {
  const Index row = rows.begin + threadIdx.x;
  Index* const own = slots + threadIdx.x;
  if (rows.contains(row)) *own = kNowhere;
  __syncthreads();
  // First sets slots[i] to the number of the sequence of row i.
  for (Index n = threadIdx.x; n < source.arrays.sequences; n += kThreads) {
    const SourceSequence s = source.checked(c, n);
    if (!s.is_valid) continue;
    const Range in_block = intersect(s.sequence.rows, rows);
    for (Index i = in_block.begin; i < in_block.end; ++i) slots[i - rows.begin] = n;
  }
  __syncthreads();
  if (rows.contains(row) && *own != kNowhere) *own = slot_of(c, u, source[*own], row);
  __syncthreads();
}

/// Blocks with y = 0 copy keys, those with y = 1 values.
template <class Unit>
__global__ void __launch_bounds__(kThreads)
    write_tokens(const PagedCall c, const Source source, const Update u) {
  __shared__ Index slots[kThreads];
  const Index begin = blockIdx.x * u.rows_of_block;
  const Range rows = intersect({begin, begin + u.rows_of_block}, {0, c.rows});
  find_slots(c, source, u, rows, slots);

  const Copied copied = blockIdx.y == 0 ? u.keys : u.values;
  const auto* const from = reinterpret_cast<const Unit*>(copied.from);
  const unsigned units_of_row = u.heads * u.written;
  const auto all = static_cast<unsigned>(rows.size()) * units_of_row;
  for (unsigned first = threadIdx.x; first < all; first += kAtOnce * kThreads) {
    Unit units[kAtOnce];
    std::byte* places[kAtOnce];
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      const unsigned i = first + k * kThreads, row = i / units_of_row;
      const Index slot = i < all ? slots[row] : kNowhere;
      units[k] = {}, places[k] = nullptr;
      if (slot == kNowhere) continue;
      const unsigned head = i % units_of_row / u.written, unit = i % units_of_row % u.written;
      if (unit < u.read) units[k] = from[((rows.begin + row) * u.heads + head) * u.read + unit];
      places[k] = copied.to + slot + head * u.head_bytes + unit * sizeof(Unit);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (places[k]) *reinterpret_cast<Unit*>(places[k]) = units[k];
    }
  }
}

/// The largest number of bytes, a power of two up to kUnitBytes, that divides all numbers in
/// `bytes`.
Index unit_bytes(std::initializer_list<Index> bytes) {
  Index all = kUnitBytes;
  for (const Index each : bytes) all |= each;
  return all & -all;
}
Index address(const std::byte* p) {
  return static_cast<Index>(reinterpret_cast<std::uintptr_t>(p));
}

}  // namespace

void update_cache(Workspace& workspace, const PagedProblem& problem, const PagedPlan& plan,
                  const NewTokens& tokens, const CachePages& pages) {
  const PagedCache& cache = problem.cache;
  const Index bytes = size_bytes(cache.dtype);
  const Index read = cache.dim * bytes, written = read + pages.padding * bytes;
  Update u{};
  u.keys = {tokens.keys.data(), pages.keys}, u.values = {tokens.values.data(), pages.values};
  u.slot_bytes = cache.slot_stride * bytes, u.page_bytes = cache.page_stride * bytes;
  u.head_bytes = cache.head_stride * bytes;
  const Index unit =
      unit_bytes({address(u.keys.from), address(u.keys.to), address(u.values.from),
                  address(u.values.to), u.slot_bytes, u.page_bytes, u.head_bytes, read, written});
  const Index units_of_row = cache.heads * (written / unit);
  if (units_of_row >= kMostUnits) {
    throw Error(Errc::kUnsupported, "a new token has more than 2^31 elements");
  }
  u.heads = static_cast<unsigned>(cache.heads);
  u.read = static_cast<unsigned>(read / unit), u.written = static_cast<unsigned>(written / unit);

  // With no window to the left, each row reads only the key that it writes. So the keys that are
  // checked are those that are written.
  PagedCall call = call_of(problem, plan);
  call.left = 0;
  // Two blocks for each multiprocessor, if there are enough rows.
  const Index spread = call.rows / properties_in_use().multiprocessors;
  u.rows_of_block = std::clamp<Index>(std::min(kUnitsOfBlock / units_of_row, spread), 1, kThreads);
  const Workspace::Scope scope(workspace);
  const Source source = checked_source(workspace, call, plan);
  const auto run = [&]<class Unit>(std::type_identity<Unit>) {
    const dim3 blocks(static_cast<unsigned>(ceil_div(call.rows, u.rows_of_block)), 2);
    launch("update_cache", write_tokens<Unit>, blocks, kThreads, 0, workspace.stream(), call,
           source, u);
  };
  switch (unit) {
    case 16:
      return run(std::type_identity<uint4>());
    case 8:
      return run(std::type_identity<uint2>());
    case 4:
      return run(std::type_identity<std::uint32_t>());
    case 2:
      return run(std::type_identity<std::uint16_t>());
    default:
      return run(std::type_identity<std::uint8_t>());
  }
}

}  // namespace maskctl::attention::cuda
