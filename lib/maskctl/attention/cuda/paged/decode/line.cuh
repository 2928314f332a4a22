// How decoding divides its work. The keys of each row of queries are cut into steps, the steps of
// all rows lie on one line, and the line is cut into equal shares. A share is the work of a gang:
// one block for each key head, so that the heads of a token are read at about the same time. Where
// a share ends inside a row, its gang leaves parts of the row's results.
#pragma once

#include "maskctl/attention/cuda/paged/prompts/prompts.cuh"
#include "maskctl/attention/cuda/paged/source.cuh"

namespace maskctl::attention::cuda {

/// A tile: neighbouring rows of a sequence, which see keys of [begin, end). The last row sees keys
/// up to `end`, each row before it one key less.
struct DecodeRow {
  static constexpr Index kBadTable = -1;  // the page table is invalid: the rows become NaN

  Index table = 0;  // index of the sequence's first page number
  int begin = 0, end = 0;
  Index first_step = 0;  // number of the row's first step, counted over all rows
  int count = 1;  // rows of the tile; 0: an earlier row's tile has this row, or it is not decoded
};

/// The share of a gang (one or more blocks of threads for each key head): steps [begin, end), and
/// the row, with its number, in which the share begins.
struct DecodeShare {
  Index begin = 0, end = 0;
  Index number = 0;
  DecodeRow row;
};

/// How the work of a call is divided.
struct DecodeCut {
  int gangs = 0;      // the most gangs (groups of blocks that share the steps)
  int blocks = 0;     // blocks per gang, over which the query heads of all key heads are divided
  int step_keys = 0;  // keys of a step
  int rows = 1;       // the most rows of a tile

  /// The number of steps of a row. A row without keys has one step, which writes its result.
  __device__ Index steps(const DecodeRow& row) const {
    if (row.count == 0) return 0;
    return row.end > row.begin ? ceil_div(row.end - row.begin, step_keys) : 1;
  }
  /// The number of gangs with a share that is not empty, if there are `line` steps in all.
  __device__ Index sharers(Index line) const { return line < gangs ? line : gangs; }
};

/// The first step of a gang's share, if there are `line` steps in all. gang_of() returns the gang
/// whose share has a given step.
__device__ inline Index share_begin(Index line, Index sharers, Index gang) {
  return line * gang / sharers;
}
__device__ inline Index gang_of(Index line, Index sharers, Index step) {
  return ((step + 1) * sharers - 1) / line;
}

/// The rows of a call and the shares of its gangs. One more entry after the last row has the number
/// of all steps as its first_step.
struct DecodeLine {
  DecodeRow* rows;
  DecodeShare* shares;
};

/// Launches a kernel that fills `line` for the sequences of `source` that are not prompts.
void lay_line(Stream stream, const PagedCall& call, const Source& source, const Prompts& prompts,
              const DecodeCut& cut, const DecodeLine& line);

}  // namespace maskctl::attention::cuda
