// The grouped product on the tensor cores of Hopper GPUs, for arrays of one 16-bit dtype whose rows
// are multiples of 16 bytes.
#pragma once

#include "maskctl/attention/cuda/grouped/grouped_product.h"
#include "maskctl/attention/cuda/grouped/products.h"

namespace maskctl::attention::cuda::hopper {

/// Whether multiply() can compute the product on this GPU. The result of a RowProduct may be f32.
bool takes(const GroupedPlan& plan, const RowProduct& product);
bool takes(const GroupedPlan& plan, const ColumnProduct& product);

/// Returns an array [rows,width] with its rows in the order of plan.rows(): a copy in the
/// workspace, or the array itself when plan.is_in_order().
AnyArray in_order(Workspace& workspace, const GroupedPlan& plan, AnyArray array, Index width);

/// Writes only the rows of `out` that have a matrix. `left` must be a result of in_order().
void multiply(Workspace& workspace, const GroupedPlan& plan, const RowProduct& product);
/// `left` and `right` must be results of in_order().
void multiply(Workspace& workspace, const GroupedPlan& plan, const ColumnProduct& product);

}  // namespace maskctl::attention::cuda::hopper
