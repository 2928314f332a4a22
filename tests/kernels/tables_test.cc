// Tests the tables of kernels without a mask.
#include <algorithm>

#include "maskctl/attention/calls/operation.h"
#include "maskctl/kernels/problems/table.h"
#include "support/catch_compat.h"

namespace kernel_table_cases {

using namespace maskctl::attention;

TEST_CASE("kernels: the reference, to which all backends fall back, has every kernel") {
  const auto& [linear, d_linear, delta, d_delta, convolution, d_convolution, grouped, d_grouped,
               pooling] = kernels_of<MasklessKernels>(backends().back());
  CHECK((linear.run && d_linear.run && delta.run && d_delta.run));
  CHECK((convolution.run && d_convolution.run && grouped.run && d_grouped.run && pooling.run));
}

TEST_CASE("kernels: their operations follow those with a mask in the list of operations") {
  const auto all = operations(), own = maskless_operations();
  REQUIRE(all.size() > own.size());
  CHECK(std::ranges::equal(all.last(own.size()), own));
  for (const Operation* row : own) {
    CHECK_FALSE(row->takes_mask());
    CHECK(find_operation(row->name) == row);
    CHECK(left_out(row->name).empty());
  }
}

}  // namespace kernel_table_cases
