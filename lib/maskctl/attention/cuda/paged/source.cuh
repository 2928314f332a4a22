// Where kernels find the sequences of a call: in memory of the plan, or in arrays of the caller.
#pragma once

#include "maskctl/attention/cuda/paged/call.cuh"

namespace maskctl::attention::cuda {

/// A sequence, and whether it is valid. The rows of an invalid sequence become NaN.
struct SourceSequence {
  PagedSequence sequence;
  bool is_valid = true;
};

struct Source {
  const PagedSequence* sequences;  // null: `arrays` have them
  PagedArrays arrays;
  const int* status;   // null if nothing is checked; is_bad then is null too
  const char* is_bad;  // [sequences]: whether the sequence is invalid

  __device__ Range rows(Index n) const {
    if (!arrays.starts) return {n, n + 1};
    return {arrays.starts[n], arrays.starts[n + 1]};
  }
  __device__ PagedSequence operator[](Index n) const {
    if (sequences) return sequences[n];
    return {rows(n), {0, arrays.lengths[n]}, n * arrays.width};
  }
  /// Sequence n, and whether it is valid. If the array `starts` is bad, all rows belong to the
  /// first sequence, which is not valid.
  __device__ SourceSequence checked(const PagedCall& c, Index n) const {
    SourceSequence s;
    if (status && (*status & kBadRows) != 0) {
      s.sequence.rows = {0, n == 0 ? c.rows : 0};
      s.is_valid = false;
    } else {
      s.sequence = (*this)[n];
      s.is_valid = !is_bad || !is_bad[n];
    }
    return s;
  }
};

/// Returns the sequences of a plan. Arrays that are not trusted are checked first, in the stream.
Source checked_source(Workspace& workspace, const PagedCall& call, const PagedPlan& plan);

}  // namespace maskctl::attention::cuda
