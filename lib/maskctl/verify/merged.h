// Joins the results of one call over two sets of keys; private to verify.
#pragma once

#include <functional>
#include <utility>

#include "maskctl/verify/call_variants.h"

namespace maskctl::attention {

/// The factors of two parts of a row, from the lse of each.
using PartFactors = std::function<std::pair<double, double>(double first, double second)>;

/// exp(lse + shift), divided by the sum of both: how results over disjoint keys are merged.
PartFactors softmax_factors(double first_shift = 0, double second_shift = 0);

/// Whether the results of a call have what merged() needs.
bool can_merge(const NamedResults& results);

/// Results with out = f * first.out + g * second.out, for the factors f and g of each row, and with
/// the lse over both sets of keys after these shifts.
NamedResults merged(const CallVariants& call, const NamedResults& first, const NamedResults& second,
                    const PartFactors& factors, double first_shift = 0, double second_shift = 0);

/// The number of the row of `out` that belongs to row n of `lse`, both counted in C order.
Index out_row(const CallVariants& call, const Tensor& lse, Index n);

}  // namespace maskctl::attention
