// Candidates with numbers that are fitted to the given output; private to verify.
#pragma once

#include <memory>

#include "maskctl/verify/call_variants.h"
#include "maskctl/verify/candidates/candidate.h"

namespace maskctl::attention {

/// The softmax_scale that explains the output best; 1, 1/D and the like where it is about that.
Candidates of_scales(const std::shared_ptr<const CallVariants>& call, const NamedResults& declared,
                     const NamedResults& given);
/// The same for each head by itself: those whose scale is another one.
Candidates of_head_scales(const std::shared_ptr<const CallVariants>& call,
                          const NamedResults& declared, const NamedResults& given);

/// A declared result, such as the output or a gradient, times one factor; an lse that is larger by
/// one number.
Candidates of_one_factor(const std::shared_ptr<const CallVariants>& call,
                         const NamedResults& declared, const NamedResults& given);
/// Keys without a value in every denominator, whose number is fitted.
Candidates of_slots(const std::shared_ptr<const CallVariants>& call, const NamedResults& declared,
                    const NamedResults& given);
/// The declared output times a factor for each row, which another denominator gives.
Candidates of_row_factors(const std::shared_ptr<const CallVariants>& call,
                          const NamedResults& declared, const NamedResults& given);

/// Two ranges of keys, of which one was not read, or whose results were merged by the weights of a
/// usual mistake.
Candidates of_merges(const std::shared_ptr<const CallVariants>& call, const NamedResults& declared,
                     const NamedResults& given);
/// The same, by weights that are fitted to each row.
Candidates of_row_merges(const std::shared_ptr<const CallVariants>& call,
                         const NamedResults& declared, const NamedResults& given);

/// Keys and values that were rounded to the numbers of a quantised cache.
Candidates of_caches(const std::shared_ptr<const CallVariants>& call, const NamedResults& declared,
                     const NamedResults& given);

/// Rows of the declared output in another order.
Candidates of_orders(const std::shared_ptr<const CallVariants>& call, const NamedResults& declared,
                     const NamedResults& given);

}  // namespace maskctl::attention
