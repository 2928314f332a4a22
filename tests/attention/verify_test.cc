// verify passes the backends, and catches kernels with planted faults.
#include "maskctl/attention/verify/verify.h"

#include <algorithm>
#include <functional>

#include "maskctl/attention/verify/reach.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/bands.h"
#include "maskctl/mask/dense.h"
#include "support/catch_compat.h"

namespace {

using namespace maskctl;
using namespace maskctl::attention;

using State = VerifyCheck::State;

Mask causal(Index q, Index k) { return Mask(diagonal_band(q, k, -kUnbounded, 0)); }

VerifyRequest request_for(const char* name, const Mask& mask) {
  VerifyRequest request;
  request.operation = find_operation(name);
  request.arguments.mask = mask;
  const bool is_causal_by_default = std::string(name) == "blocksparse_attention";
  if (is_causal_by_default) request.arguments.options["causal"] = "false";
  add_random_arrays(*request.operation,
                    {.extents = {{"B", 2},
                                 {"Tq", mask.queries()},
                                 {"Tk", mask.keys()},
                                 {"Hq", 4},
                                 {"Hkv", 2},
                                 {"D", 8},
                                 {"Dv", 8}},
                     .seed = 3},
                    request.arguments);
  request.declared = mask;
  return request;
}

State state_of(const std::vector<VerifyCheck>& checks, const std::string& name) {
  const auto found = std::ranges::find(checks, name, &VerifyCheck::name);
  REQUIRE(found != checks.end());
  return found->state;
}

TEST_CASE("verify: the fast path passes for every operation that takes a mask") {
  for (const char* name : {"flash_attention", "scaled_dot_product_attention", "attention",
                           "ring_attention", "blocksparse_attention"}) {
    for (const Mask& mask : {causal(20, 20), Mask(diagonal_band(9, 17, -2, 3))}) {
      const std::vector<VerifyCheck> checks = verify(request_for(name, mask));
      for (const VerifyCheck& check : checks) {
        INFO(name << ": " << check.name << ": " << check.detail);
        CHECK(check.state != State::kFailed);
      }
      CHECK(checks.size() == 7);
      CHECK(state_of(checks, "gradient support") == State::kPassed);
    }
  }
}

TEST_CASE("verify: keys that nobody sees are poisoned") {
  const Mask mask(rectangle(10, 12, {0, 10}, {3, 9}));
  const auto checks = verify(request_for("flash_attention", mask));
  CHECK(state_of(checks, "unseen keys") == State::kPassed);
  CHECK(state_of(verify(request_for("flash_attention", causal(8, 8))), "unseen keys") ==
        State::kSkipped);
}

// Kernels with faults: flash_attention under arguments that were changed first.
using Fault = std::function<void(NamedArguments&)>;
Fault planted;

NamedResults run_faulty(Call& call) {
  const auto& good = *find_operation("flash_attention");
  NamedArguments arguments = call.arguments();
  for (const auto& [name, array] : arguments.arrays) call.optional_array(name);
  call.mask();
  if (arguments.backend == Backend::kCpu) planted(arguments);
  Call changed(arguments);
  return good.run(changed);
}

std::vector<VerifyCheck> verify_faulty(const Mask& mask, Fault fault) {
  planted = std::move(fault);
  NamedOperation faulty = *find_operation("flash_attention");
  faulty.run = run_faulty;
  VerifyRequest request = request_for("flash_attention", mask);
  request.operation = &faulty;
  std::vector<VerifyCheck> checks = verify(request);
  return checks;
}

TEST_CASE(
    "verify: a window that is off by one fails every check of the mask but the declared one") {
  const Mask mask(diagonal_band(16, 16, -4, 0));
  const auto checks = verify_faulty(
      mask, [](NamedArguments& arguments) { arguments.mask = Mask(diagonal_band(16, 16, -5, 0)); });
  CHECK(state_of(checks, "declared mask") == State::kPassed);
  for (const char* name : {"forward", "gradients", "weights", "gradient support", "closed keys"}) {
    INFO(name);
    CHECK(state_of(checks, name) == State::kFailed);
  }
  CHECK_FALSE(all_passed(checks));
}

TEST_CASE("verify: a mask that closes by a finite bias is caught by poison only") {
  const Mask mask(rectangle(8, 12, {0, 8}, {0, 6}));
  const auto checks = verify_faulty(mask, [](NamedArguments& arguments) {
    Tensor bias(DType::kFloat32, {1, 1, 1, 12});
    std::fill(bias.as<float>().begin() + 6, bias.as<float>().end(), -1e9F);
    arguments.arrays["bias"] = bias;
    arguments.mask.reset();
  });
  for (const char* name : {"forward", "weights", "gradient support"}) {
    INFO(name);
    CHECK(state_of(checks, name) == State::kPassed);
  }
  CHECK(state_of(checks, "unseen keys") == State::kFailed);
}

TEST_CASE("verify: values with more channels show the same mask, in fewer passes") {
  for (const char* name : {"flash_attention", "blocksparse_attention"}) {
    const VerifyRequest request = request_for(name, Mask(diagonal_band(11, 21, -3, 4)));
    for (const Backend backend : {Backend::kReference, Backend::kCpu}) {
      NamedArguments arguments = request.arguments;
      arguments.backend = backend;
      const ProbeReading narrow = read_weights_reach(*request.operation, arguments);
      const ProbeReading wide = read_weights_reach(*request.operation, arguments, true);
      CHECK(zip(Op::kXor, narrow.mask, wide.mask).count() == 0);
      CHECK(zip(Op::kXor, *request.declared, wide.mask).count() == 0);
      CHECK(wide.nan_rows == 0);
    }
  }
}

TEST_CASE("verify: an output made elsewhere is judged") {
  VerifyRequest request = request_for("flash_attention", causal(12, 12));
  Tensor out = run(*request.operation, request.arguments).at("out");
  CHECK(verify_given(request, {{"out", out}}).at(0).state == State::kPassed);
  out.as<float>()[5] += 0.01F;
  const VerifyCheck check = verify_given(request, {{"out", out}}).at(0);
  CHECK(check.state == State::kFailed);
  CHECK(check.detail.find("(0, 0, 0, 5)") != std::string::npos);
  CHECK_THROWS_AS(verify_given(request, {{"out", Tensor(DType::kFloat32, {1})}}), Error);
  CHECK_THROWS_AS(verify_given(request, {{"output", out}}), Error);
}

TEST_CASE("verify: gradients made elsewhere are judged, alone or beside the output") {
  VerifyRequest request = request_for("flash_attention", causal(12, 12));
  NamedArguments arguments = request.arguments;
  arguments.gradient_seed = request.seed;
  NamedResults results = run(*request.operation, arguments);
  std::vector<VerifyCheck> checks = verify_given(request, results);
  REQUIRE(checks.size() == 2);
  CHECK(all_passed(checks));
  results.at("grad_key").as<float>()[3] += 0.01F;
  checks = verify_given(request, results);
  CHECK(state_of(checks, "forward") == State::kPassed);
  CHECK(state_of(checks, "gradients") == State::kFailed);
  checks = verify_given(request, {{"grad_key", results.at("grad_key")}});
  REQUIRE(checks.size() == 1);
  CHECK(state_of(checks, "gradients") == State::kFailed);
}

TEST_CASE("verify: without a declared mask the judge says what is open") {
  VerifyRequest request = request_for("flash_attention", causal(10, 10));
  request.arguments.mask.reset();
  request.declared.reset();
  request.arguments.options = {{"causal", "true"}, {"sliding_window", "3+0"}};
  const auto checks = verify(request);
  CHECK(all_passed(checks));
  CHECK(checks.size() == 6);
}

TEST_CASE("verify: more pairs than the judge can look at are refused before any work") {
  constexpr Index kTokens = 1 << 16;
  VerifyRequest request;
  request.operation = find_operation("flash_attention");
  const AxisExtents extents = {{"B", 1},   {"Tq", kTokens}, {"Tk", kTokens}, {"Hq", 4},
                               {"Hkv", 1}, {"D", 1},        {"Dv", 1}};
  add_random_arrays(*request.operation, {.extents = extents}, request.arguments);
  const std::string message =
      "verify: 65536 queries and 65536 keys in 4 heads have more than 8589934592 open pairs, too "
      "many for plain loops; verify a part (-t slice:...) or fewer heads";
  CHECK_THROWS_WITH(verify(request), message);
  request.arguments.mask = causal(kTokens, kTokens);  // half of them and the diagonal
  CHECK_THROWS_WITH(verify(request), message);
}

}  // namespace
