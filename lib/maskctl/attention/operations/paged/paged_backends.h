// The implementations behind paged_attention; calls are already checked.
#pragma once

#include "maskctl/attention/operations/paged/paged_call.h"

namespace maskctl::attention {

/// out [rows,Hq,D] f32: softmax over the visible keys, times the values and value_scale. Rows of no
/// sequence and rows that see nothing are 0.
Tensor paged_reference(const PagedCall& call);
Tensor paged_cpu(const PagedCall& call);

/// Writes the rows of one sequence: its visible keys and values are copied together and go to
/// softmax_forward.
void gathered_attention(const PagedCall& call, const PagedSequence& sequence, Tensor& out);

}  // namespace maskctl::attention
