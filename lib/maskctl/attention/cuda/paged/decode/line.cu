// A kernel of one block that numbers the steps of all rows and cuts them into shares.
#include "maskctl/attention/cuda/block_sum.cuh"
#include "maskctl/attention/cuda/paged/decode/line.cuh"

namespace maskctl::attention::cuda {
namespace {

constexpr int kThreads = 512;

/// Divides the rows of each sequence into tiles, except those of prompts (sequences with many
/// rows). Rows that are in no sequence see no keys. If there may be prompts, such rows are not
/// decoded: attend_prompts() has already written zeros for them.
__device__ void take_rows(const PagedCall& c, const Source& source, const Prompts& prompts,
                          const DecodeCut& cut, DecodeRow* rows) {
  DecodeRow outside;
  if (prompts.tokens > 0) outside.count = 0;
  for (Index row = threadIdx.x; row < c.rows; row += kThreads) rows[row] = outside;
  __syncthreads();
  for (Index n = threadIdx.x; n < source.arrays.sequences; n += kThreads) {
    if (prompts.have(n)) continue;
    const auto [sequence, is_valid] = source.checked(c, n);
    const Range own = sequence.rows;
    for (Index row = own.begin; row < own.end; ++row) {
      const Index in_tile = (row - own.begin) % cut.rows, left = own.end - row;
      if (in_tile > 0) {
        rows[row].count = 0;
        continue;
      }
      const Index last = row + (left < cut.rows ? left : cut.rows) - 1;
      const Range keys =
          is_valid ? Range{c.visible(sequence, row).begin, c.visible(sequence, last).end} : Range{};
      rows[row].table = is_valid ? sequence.table : DecodeRow::kBadTable;
      rows[row].begin = static_cast<int>(keys.begin);
      rows[row].end = static_cast<int>(keys.end);
      rows[row].count = static_cast<int>(last - row) + 1;
    }
  }
  __syncthreads();
}

/// Numbers the steps (groups of keys) of all rows one after the other, and returns how many there
/// are.
__device__ Index number_steps(const PagedCall& c, const DecodeCut& cut, DecodeRow* rows) {
  Index line = 0;
  for (Index first = 0; first < c.rows; first += kThreads) {
    const Index row = first + threadIdx.x;
    Index all = 0;
    const Index before = sum_before<kThreads>(row < c.rows ? cut.steps(rows[row]) : 0, all);
    if (row < c.rows) rows[row].first_step = line + before;
    line += all;
  }
  if (threadIdx.x == 0) rows[c.rows] = {0, 0, 0, line, 0};
  __syncthreads();
  return line;
}

/// Fills the rows and shares of a DecodeLine. Must be launched with one block.
__global__ void lay_rows(const PagedCall c, const Source source, const Prompts prompts,
                         const DecodeCut cut, const DecodeLine out) {
  take_rows(c, source, prompts, cut, out.rows);
  const Index line = number_steps(c, cut, out.rows), sharers = cut.sharers(line);
  for (Index gang = sharers + threadIdx.x; gang < cut.gangs; gang += kThreads) {
    out.shares[gang] = {};
  }
  if (line == 0) return;
  for (Index n = threadIdx.x; n < c.rows; n += kThreads) {
    const DecodeRow row = out.rows[n];
    const Index end = row.first_step + cut.steps(row);
    Index gang = ceil_div(row.first_step * sharers, line);
    for (; gang < sharers && share_begin(line, sharers, gang) < end; ++gang) {
      out.shares[gang] = {share_begin(line, sharers, gang), share_begin(line, sharers, gang + 1), n,
                          row};
    }
  }
}

}  // namespace

void lay_line(Stream stream, const PagedCall& call, const Source& source, const Prompts& prompts,
              const DecodeCut& cut, const DecodeLine& line) {
  launch("decode_line", lay_rows, 1, kThreads, 0, stream, call, source, prompts, cut, line);
}

}  // namespace maskctl::attention::cuda
