// Candidates with numbers that are fitted to the given output; private to verify.
#pragma once

#include <memory>

#include "maskctl/verify/call_variants.h"
#include "maskctl/verify/candidates/candidate.h"

namespace maskctl::attention {

/// The softmax_scale that explains the output best, replaced by a usual one, such as 1 or 1/D, if
/// it is about that one.
Candidates of_scales(const std::shared_ptr<const CallVariants>& call, const NamedResults& declared,
                     const NamedResults& given);
/// The same for each head by itself: those whose scale is another one.
Candidates of_head_scales(const std::shared_ptr<const CallVariants>& call,
                          const NamedResults& declared, const NamedResults& given);

/// A declared result, such as the output or a gradient, times one factor; for an lse, also the
/// declared lse plus one number.
Candidates of_one_factor(const std::shared_ptr<const CallVariants>& call,
                         const NamedResults& declared, const NamedResults& given);
/// Keys of logit 0 and value 0 that are added to every softmax denominator; their number is fitted.
Candidates of_slots(const std::shared_ptr<const CallVariants>& call, const NamedResults& declared,
                    const NamedResults& given);
/// The declared output with each row times a factor of its own, as a wrong denominator gives it.
Candidates of_row_factors(const std::shared_ptr<const CallVariants>& call,
                          const NamedResults& declared, const NamedResults& given);

/// Two ranges of keys, of which one was not read, or whose results were merged by the weights of a
/// usual mistake.
Candidates of_merges(const std::shared_ptr<const CallVariants>& call, const NamedResults& declared,
                     const NamedResults& given);
/// Two ranges of keys as in of_merges(), merged by weights that are fitted to each row.
Candidates of_row_merges(const std::shared_ptr<const CallVariants>& call,
                         const NamedResults& declared, const NamedResults& given);

/// Keys and values that were rounded to the numbers of a quantised cache.
Candidates of_caches(const std::shared_ptr<const CallVariants>& call, const NamedResults& declared,
                     const NamedResults& given);

/// Rows of the declared output in another order.
Candidates of_orders(const std::shared_ptr<const CallVariants>& call, const NamedResults& declared,
                     const NamedResults& given);

}  // namespace maskctl::attention
