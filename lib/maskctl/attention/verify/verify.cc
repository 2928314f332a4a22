#include "maskctl/attention/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/attention/verify/compare.h"
#include "maskctl/attention/verify/inputs.h"
#include "maskctl/attention/verify/key_side.h"
#include "maskctl/attention/verify/poison.h"
#include "maskctl/attention/verify/reach.h"
#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"

namespace maskctl::attention {
namespace {

using State = VerifyCheck::State;

constexpr Index kMostCells = Index{1} << 26;
/// The judge takes some 10 to 60 ns for each pair of a query and a key.
constexpr Index kMostPairs = Index{1} << 33;

Index differing_cells(const Mask& a, const Mask& b) { return zip(Op::kXor, a, b).count(); }

/// What a reading shows against the mask that it should show.
VerifyCheck compare_reach(const std::string& name, const ProbeReading& reading, const Mask& mask) {
  const Index differing = differing_cells(reading.mask, mask);
  if (differing == 0 && reading.nan_rows == 0) {
    return {name, State::kPassed,
            fmt::format("all {} open cells and no other", reading.mask.count())};
  }
  return {name, State::kFailed,
          fmt::format("{} cells differ, {} rows give NaN", differing, reading.nan_rows)};
}

NamedArguments on(Backend backend, const VerifyRequest& request) {
  NamedArguments out = request.arguments;
  out.backend = backend;
  out.gradient_seed.reset();
  if (request.gradients && request.operation->has_gradients) out.gradient_seed = request.seed;
  return out;
}

/// Throws for a result that cannot be compared.
void check_given(const std::string& name, const Tensor& given, const NamedResults& expected) {
  const auto found = expected.find(name);
  if (found == expected.end()) {
    std::string names;
    for (const auto& [other, array] : expected) names += (names.empty() ? "" : ", ") + other;
    throw Error(Errc::kInvalidArgument,
                fmt::format("no result '{}' to compare; there are {}", name, names));
  }
  if (given.shape() == found->second.shape()) return;
  throw Error(Errc::kShape,
              fmt::format("{} is {}, expected {}", name == "out" ? "the output" : name,
                          shape_text(given.shape()), shape_text(found->second.shape())));
}

/// The softmax of queries over single keys, whose weights are 0 where a cell is closed.
bool has_weights(const VerifyRequest& request) {
  const auto& arrays = request.arguments.arrays;
  const bool selects = arrays.contains("block_indices") && !arrays.contains("g_cmp");
  return request.operation->takes_mask || selects;
}

/// Throws Error(kLimit) where the judge would take hours.
void check_pairs(const VerifyRequest& request) {
  const ProbeShape shape = shape_of_call(*request.operation, request.arguments);
  const auto& mask = request.arguments.mask;
  const Index planes = shape.batch * shape.heads;
  const std::optional<Index> pairs =
      mask ? checked_mul(mask->count(), planes / (mask->batch() * mask->heads()))
           : checked_product(std::array{planes, shape.queries, shape.keys});
  if (pairs && *pairs <= kMostPairs) return;
  throw Error(
      Errc::kLimit,
      fmt::format("verify: {} queries and {} keys in {} heads have more than {} open pairs, "
                  "too many for plain loops; verify a part (-t slice:...) or fewer heads",
                  shape.queries, shape.keys, planes, kMostPairs));
}

/// Why there are no gradients; empty when there are.
std::string no_gradients(const VerifyRequest& request) {
  if (!request.operation->has_gradients) return "the operation has none";
  return request.gradients ? "" : "gradients are not asked for";
}

/// Why the weights of a call cannot be read; empty when they can.
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
  for (const char* name : names) checks.push_back({name, State::kSkipped, reason});
}

void verify_mask(const VerifyRequest& request, std::vector<VerifyCheck>& checks) {
  const NamedOperation& operation = *request.operation;
  const ProbeReading applied = read_weights_reach(operation, on(request.against, request), true);
  const Mask& mask = request.declared ? *request.declared : applied.mask;
  if (request.declared) {
    checks.push_back(compare_reach("declared mask", applied, mask));
  } else {
    skip({"declared mask"}, "none is given, or other arguments close cells too", checks);
  }
  const NamedArguments arguments = on(request.backend, request);
  checks.push_back(compare_reach("weights", read_weights_reach(operation, arguments), mask));
  if (arguments.gradient_seed) {
    checks.push_back(
        compare_reach("gradient support", read_gradient_reach(operation, arguments), mask));
  } else {
    skip({"gradient support"}, no_gradients(request), checks);
  }
  checks.push_back(check_unseen_keys(operation, arguments, mask));
  checks.push_back(check_closed_keys(operation, arguments, mask));
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
  if (has_weights(request)) check_pairs(request);
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
  if (has_weights(request)) {
    skip({"unseen keys", "closed keys"}, reason, checks);
  } else {
    verify_inputs(request, checks);
  }
  return checks;
}

std::vector<VerifyCheck> verify_given(const VerifyRequest& request, const NamedResults& given) {
  const bool gradients =
      std::ranges::any_of(given, [](const auto& result) { return is_gradient(result.first); });
  NamedArguments arguments = on(request.against, request);
  if (!gradients) arguments.gradient_seed.reset();
  const NamedResults expected = run(*request.operation, arguments);
  bool forward = false;
  for (const auto& [name, array] : given) {
    check_given(name, array, expected);
    forward = forward || !is_gradient(name);
  }
  std::vector<VerifyCheck> checks;
  if (forward) {
    checks.push_back(compare_results("forward", given, expected, false, request.tolerance));
  }
  if (gradients) {
    checks.push_back(compare_results("gradients", given, expected, true, request.tolerance));
  }
  return checks;
}

bool all_passed(const std::vector<VerifyCheck>& checks) {
  return std::ranges::none_of(
      checks, [](const VerifyCheck& check) { return check.state == State::kFailed; });
}

}  // namespace maskctl::attention
