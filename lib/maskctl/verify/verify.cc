#include "maskctl/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/attention/problems/backends.h"
#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/verify/call_variants.h"
#include "maskctl/verify/compare.h"
#include "maskctl/verify/key_side.h"
#include "maskctl/verify/poison.h"
#include "maskctl/verify/reach.h"

namespace maskctl::attention {
namespace {

constexpr Index kMostCells = Index{1} << 26;
/// The reference takes about 10 to 60 ns for each pair of a query and a key.
constexpr Index kMostPairs = Index{1} << 33;

/// How many rows of a call give NaN because they see no key.
Index expected_nan_rows(const NamedArguments& arguments, const Mask& mask, const Mask& shape) {
  if (empty_row_policy(arguments) != "nan" || arguments.arrays.contains("softmax_aux")) return 0;
  Index rows = 0;
  for (Index b = 0; b < shape.batch(); ++b) {
    for (Index h = 0; h < shape.heads(); ++h) {
      const Plane& plane = *mask.plane(b, h);
      plane.row_sizes({0, plane.queries()}, [&rows](Range equal, const Plane::RowSize& size) {
        if (size.keys == 0) rows += equal.size();
      });
    }
  }
  return rows;
}

/// Compares the mask that was read with the mask that is expected.
VerifyCheck compare_reach(const std::string& name, const ProbeReading& reading, const Mask& mask,
                          Index nan_rows) {
  const Index differing = differing_cells(reading.mask, mask);
  if (differing == 0 && reading.nan_rows == nan_rows) {
    return {name, VerifyCheck::State::kPassed,
            fmt::format("all {} open cells and no other", reading.mask.count())};
  }
  return {name, VerifyCheck::State::kFailed,
          fmt::format("{} cells differ, {} rows give NaN, {} should", differing, reading.nan_rows,
                      nan_rows)};
}

NamedArguments on(Backend backend, const VerifyRequest& request) {
  NamedArguments out = request.arguments;
  out.context.backend = backend;
  out.gradient_seed.reset();
  if (request.gradients && request.operation->has_gradients()) out.gradient_seed = request.seed;
  return out;
}

/// Whether the operation is a softmax over single keys, in which closed cells have weight 0.
bool has_weights(const VerifyRequest& request) {
  const auto& arrays = request.arguments.arrays;
  const bool selects = arrays.contains("block_indices") && !arrays.contains("g_cmp");
  return request.operation->takes_mask() || selects;
}

/// Throws Error(kLimit) where the reference would take hours.
void check_pairs(const VerifyRequest& request) {
  const bool judged =
      backend_row(request.backend).is_reference || backend_row(request.against).is_reference;
  if (!judged || !has_weights(request)) return;
  const ProbeShape shape = shape_of_call(*request.operation, request.arguments);
  const auto& mask = request.arguments.mask;
  const Index planes = shape.batch * shape.heads;
  const std::optional<Index> pairs =
      mask ? checked_mul(mask->count(), planes / std::max<Index>(mask->batch() * mask->heads(), 1))
           : checked_product(std::array{planes, shape.queries, shape.keys});
  if (pairs && *pairs <= kMostPairs) return;
  throw Error(
      Errc::kLimit,
      fmt::format("verify: {} queries and {} keys in {} heads have more than {} open pairs, "
                  "too many for plain loops; verify a slice of the mask or fewer heads, or "
                  "against another backend",
                  shape.queries, shape.keys, planes, kMostPairs));
}

/// Why there are no gradients; empty if there are.
std::string no_gradients(const VerifyRequest& request) {
  if (!request.operation->has_gradients()) return "the operation has none";
  return request.gradients ? "" : "gradients are not asked for";
}

/// Why the weights of a call cannot be read; empty if they can.
std::string no_weights(const VerifyRequest& request) {
  if (request.arguments.arrays.contains("g_cmp")) {
    return "the keys themselves say which blocks of them are seen";
  }
  if (!has_weights(request)) return "the operation has no mask";
  const ProbeShape shape = shape_of_call(*request.operation, request.arguments);
  const Index cells = shape.batch * shape.heads * shape.queries * shape.keys;
  return cells > kMostCells ? fmt::format("{} cells are more than {}", cells, kMostCells) : "";
}

void skip(std::initializer_list<const char*> names, const std::string& reason,
          std::vector<VerifyCheck>& checks) {
  for (const char* name : names) checks.push_back({name, VerifyCheck::State::kSkipped, reason});
}

/// Why gradients cannot be compared with the mask; empty if they can. NaN in a row spreads to all
/// gradients.
std::string no_gradient_support(const VerifyRequest& request, const Mask& mask) {
  if (const std::string reason = no_gradients(request); !reason.empty()) return reason;
  return expected_nan_rows(request.arguments, mask, mask) > 0
             ? "rows without a key give NaN, which spreads to all gradients"
             : "";
}

void verify_keys(const VerifyRequest& request, const Mask& mask, std::vector<VerifyCheck>& checks) {
  const NamedArguments arguments = on(request.backend, request);
  checks.push_back(check_unseen_keys(*request.operation, arguments, mask));
  checks.push_back(check_closed_keys(*request.operation, arguments, mask));
}

void verify_mask(const VerifyRequest& request, std::vector<VerifyCheck>& checks) {
  const Operation& operation = *request.operation;
  const NamedArguments judged = without(*request.operation, kDrops, on(request.against, request));
  const ProbeReading applied = read_weights_reach(operation, judged, true);
  const Mask& mask = request.declared ? *request.declared : applied.mask;
  const Index nan_rows = expected_nan_rows(request.arguments, mask, applied.mask);
  if (request.declared) {
    checks.push_back(compare_reach("declared mask", applied, mask, nan_rows));
  } else {
    skip({"declared mask"}, "none is given, or other arguments close cells too", checks);
  }
  const NamedArguments kept = without(operation, kDrops, on(request.backend, request));
  checks.push_back(compare_reach("weights", read_weights_reach(operation, kept), mask, nan_rows));
  if (const std::string reason = no_gradient_support(request, mask); reason.empty()) {
    checks.push_back(
        compare_reach("gradient support", read_gradient_reach(operation, kept), mask, 0));
  } else {
    skip({"gradient support"}, reason, checks);
  }
  verify_keys(request, mask, checks);
}

void verify_inputs(const VerifyRequest& request, std::vector<VerifyCheck>& checks) {
  if (request.arguments.arrays.contains("g_cmp")) {
    return skip({"unread inputs", "other outputs"}, no_weights(request), checks);
  }
  const NamedArguments arguments = on(request.backend, request);
  checks.push_back(check_unread_inputs(*request.operation, arguments, request.against));
  checks.push_back(check_other_outputs(*request.operation, arguments, request.against));
}

}  // namespace

std::vector<VerifyCheck> verify(const VerifyRequest& request) {
  check_pairs(request);
  const NamedResults seen = run(*request.operation, on(request.backend, request));
  const NamedResults expected = run(*request.operation, on(request.against, request));
  std::vector<VerifyCheck> checks{
      compare_results("forward", seen, expected, false, request.tolerance)};
  if (const std::string reason = no_gradients(request); reason.empty()) {
    checks.push_back(compare_results("gradients", seen, expected, true, request.tolerance));
  } else {
    skip({"gradients"}, reason, checks);
  }
  const std::string reason = no_weights(request);
  if (reason.empty()) {
    verify_mask(request, checks);
    return checks;
  }
  skip({"declared mask", "weights", "gradient support"}, reason, checks);
  if (request.declared && request.operation->takes_mask()) {
    verify_keys(request, *request.declared, checks);
  } else if (has_weights(request)) {
    skip({"unseen keys", "closed keys"}, reason, checks);
  } else {
    verify_inputs(request, checks);
  }
  return checks;
}

std::optional<Mask> applied_mask(const VerifyRequest& request) {
  if (request.declared) return request.declared;
  if (!request.operation->takes_mask() || !no_weights(request).empty()) return {};
  const NamedArguments arguments =
      without(*request.operation, kDrops, on(request.against, request));
  return read_weights_reach(*request.operation, arguments, true).mask;
}

bool all_passed(const std::vector<VerifyCheck>& checks) {
  return std::ranges::none_of(
      checks, [](const VerifyCheck& check) { return check.state == VerifyCheck::State::kFailed; });
}

}  // namespace maskctl::attention
