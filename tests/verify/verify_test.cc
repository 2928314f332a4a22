// Tests that verify() passes the backends, and that it finds kernels with planted faults.
#include "maskctl/verify/verify.h"

#include <algorithm>
#include <functional>

#include "maskctl/attention/calls/fields.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/verify/judge.h"
#include "maskctl/verify/reach.h"
#include "support/backends.h"
#include "support/catch_compat.h"

namespace verify_cases {

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
                                 {"Dv", 8},
                                 {"R", 6}},
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

TEST_CASE("verify: all backends pass for every operation that takes a mask") {
  for (const char* name : {"flash_attention", "scaled_dot_product_attention", "attention",
                           "ring_attention", "blocksparse_attention", "mla_attention"}) {
    for (const Mask& mask : {causal(20, 20), Mask(diagonal_band(9, 17, -2, 3))}) {
      for (const Backend backend : test::judged_backends()) {
        VerifyRequest request = request_for(name, mask);
        request.backend = backend;
        const std::vector<VerifyCheck> checks = verify(request);
        for (const VerifyCheck& check : checks) {
          INFO(name << ": " << check.name << ": " << check.detail);
          CHECK(check.state != State::kFailed);
        }
        CHECK(checks.size() == 7);
        CHECK(state_of(checks, "gradient support") == State::kPassed);
      }
    }
  }
}

TEST_CASE("verify: rotary parts of latent keys are poisoned with their keys") {
  VerifyRequest request = request_for("mla_attention", Mask(rectangle(10, 12, {0, 10}, {3, 9})));
  request.arguments.arrays["b_q"] = random_normal({2, 10, 40}, 5);
  request.arguments.arrays["b_k"] = random_normal({2, 12, 40}, 6);
  const std::vector<VerifyCheck> checks = verify(request);
  for (const VerifyCheck& check : checks) {
    INFO(check.name << ": " << check.detail);
    CHECK(check.state == State::kPassed);
  }
}

TEST_CASE("verify: keys that no query sees are poisoned with NaN") {
  const Mask mask(rectangle(10, 12, {0, 10}, {3, 9}));
  for (const Backend backend : test::usable_backends()) {
    for (const char* name : {"flash_attention", "mla_attention"}) {
      VerifyRequest request = request_for(name, mask);
      request.backend = backend;
      CHECK(state_of(verify(request), "unseen keys") == State::kPassed);
    }
  }
  CHECK(state_of(verify(request_for("flash_attention", causal(8, 8))), "unseen keys") ==
        State::kSkipped);
}

// A faulty kernel is the operation `good` on the CPU, run with arguments that `planted` changes
// first.
using Fault = std::function<void(NamedArguments&)>;
const Operation* good = nullptr;
Fault planted;

/// A copy of a call with changed arguments; owns the arrays to which `call` refers.
struct ChangedCall {
  explicit ChangedCall(const void* from) : call(good->copy_call(from)) {
    for_each_array(*good, from, [this](const Field& field, const Tensor& array) {
      arguments.arrays[std::string(field.name)] = array;
    });
    planted(arguments);
    for (const Field& field : good->fields) {
      visit_member(field, call.get(), [&](auto& member) { change(field, member); });
    }
  }
  template <class Member>
  void change(const Field& field, Member& member) {
    const std::string name(field.name);
    if constexpr (std::is_same_v<Member, const Tensor*>) {
      if (arguments.arrays.contains(name)) member = &arguments.arrays.at(name);
    } else if constexpr (std::is_same_v<Member, const Mask*>) {
      if (arguments.mask) member = &*arguments.mask;
      if (arguments.options.contains("mask")) member = nullptr;
    } else if (arguments.options.contains(name)) {
      read_text(field, arguments.options.at(name), call.get());
    }
  }

  NamedArguments arguments;
  AnyValue call;
};

std::vector<VerifyCheck> verify_faulty(VerifyRequest request, Fault fault) {
  good = &form_of(*request.operation, request.arguments);
  planted = std::move(fault);
  Operation faulty = *good;
  faulty.forward = [](const void* call) {
    const bool fast = good->backend_of(call) == Backend::kCpu;
    return good->forward(fast ? ChangedCall(call).call.get() : call);
  };
  if (good->backward) {
    faulty.backward = [](const void* call, const void* output, const Cotangents& d) {
      const bool fast = good->backend_of(call) == Backend::kCpu;
      return good->backward(fast ? ChangedCall(call).call.get() : call, output, d);
    };
  }
  request.operation = &faulty;
  return verify(request);
}

TEST_CASE("verify: a window that is off by one fails all checks of the mask but the declared one") {
  const Mask mask(diagonal_band(16, 16, -4, 0));
  for (const char* operation : {"flash_attention", "mla_attention"}) {
    const auto checks = verify_faulty(request_for(operation, mask), [](NamedArguments& arguments) {
      arguments.mask = Mask(diagonal_band(16, 16, -5, 0));
    });
    CHECK(state_of(checks, "declared mask") == State::kPassed);
    for (const char* name :
         {"forward", "gradients", "weights", "gradient support", "closed keys"}) {
      INFO(operation << ": " << name);
      CHECK(state_of(checks, name) == State::kFailed);
    }
    CHECK_FALSE(all_passed(checks));
  }
}

TEST_CASE("verify: only poisoned keys reveal a mask that closes by a finite bias") {
  const Mask mask(rectangle(8, 12, {0, 8}, {0, 6}));
  const auto checks =
      verify_faulty(request_for("flash_attention", mask), [](NamedArguments& arguments) {
        Tensor bias(DType::kFloat32, {1, 1, 1, 12});
        std::fill(bias.as<float>().begin() + 6, bias.as<float>().end(), -1e9F);
        arguments.arrays["bias"] = bias;
        arguments.options["mask"] = "none";
      });
  for (const char* name : {"forward", "weights", "gradient support"}) {
    INFO(name);
    CHECK(state_of(checks, name) == State::kPassed);
  }
  CHECK(state_of(checks, "unseen keys") == State::kFailed);
}

TEST_CASE("verify: values with more channels show the same mask in fewer passes") {
  for (const char* name : {"flash_attention", "blocksparse_attention"}) {
    const VerifyRequest request = request_for(name, Mask(diagonal_band(11, 21, -3, 4)));
    for (const Backend backend : test::usable_backends()) {
      NamedArguments arguments = request.arguments;
      arguments.context.backend = backend;
      const ProbeReading narrow = read_weights_reach(*request.operation, arguments);
      const ProbeReading wide = read_weights_reach(*request.operation, arguments, true);
      CHECK(zip(Op::kXor, narrow.mask, wide.mask).count() == 0);
      CHECK(zip(Op::kXor, *request.declared, wide.mask).count() == 0);
      CHECK(wide.nan_rows == 0);
    }
  }
}

TEST_CASE("verify: an output that was computed elsewhere is judged") {
  VerifyRequest request = request_for("flash_attention", causal(12, 12));
  Tensor out = run(*request.operation, request.arguments).at("out");
  CHECK(verify_given(request, {{"out", out}}).checks.at(0).state == State::kPassed);
  out.as<float>()[5] += 0.01F;
  const VerifyCheck check = verify_given(request, {{"out", out}}).checks.at(0);
  CHECK(check.state == State::kFailed);
  CHECK(check.detail.find("(0, 0, 0, 5)") != std::string::npos);
  CHECK_THROWS_AS(verify_given(request, {{"out", Tensor(DType::kFloat32, {1})}}), Error);
  CHECK_THROWS_AS(verify_given(request, {{"output", out}}), Error);
}

TEST_CASE("verify: gradients that were computed elsewhere are judged, alone or with the output") {
  VerifyRequest request = request_for("flash_attention", causal(12, 12));
  NamedArguments arguments = request.arguments;
  arguments.gradient_seed = request.seed;
  NamedResults results = run(*request.operation, arguments);
  std::vector<VerifyCheck> checks = verify_given(request, results).checks;
  REQUIRE(checks.size() == 2);
  CHECK(all_passed(checks));
  results.at("grad_key").as<float>()[3] += 0.01F;
  checks = verify_given(request, results).checks;
  CHECK(state_of(checks, "forward") == State::kPassed);
  CHECK(state_of(checks, "gradients") == State::kFailed);
  checks = verify_given(request, {{"grad_key", results.at("grad_key")}}).checks;
  REQUIRE(checks.size() == 1);
  CHECK(state_of(checks, "gradients") == State::kFailed);
}

TEST_CASE("verify: without a declared mask, the reference defines which cells are open") {
  VerifyRequest request = request_for("flash_attention", causal(10, 10));
  request.arguments.mask.reset();
  request.declared.reset();
  request.arguments.options = {{"causal", "true"}, {"sliding_window", "3+0"}};
  const auto checks = verify(request);
  CHECK(all_passed(checks));
  CHECK(checks.size() == 7);
  CHECK(state_of(checks, "declared mask") == State::kSkipped);
}

Tensor i32(const std::vector<Index>& shape, const std::vector<std::int32_t>& values) {
  Tensor out(DType::kInt32, shape);
  std::ranges::copy(values, out.as<std::int32_t>().begin());
  return out;
}

/// Makes a small call of any operation; if the operation can have inputs that it must not read, the
/// call has some.
VerifyRequest small_request(const Operation& operation) {
  if (operation.takes_mask()) {
    return request_for(std::string(operation.name).c_str(),
                       Mask(rectangle(10, 12, {0, 10}, {3, 9})));
  }
  VerifyRequest request;
  request.operation = &operation;
  auto& arrays = request.arguments.arrays;
  const std::string name(operation.name);
  const auto has = [&](std::string_view array) { return operation.has(array); };
  if (has("context_lens")) {
    arrays["context_lens"] = i32({2}, {5, 7});
    arrays["block_tables"] = i32({2, 2}, {3, 1, 0, 4});
  }
  if (has("block_indices")) arrays["block_indices"] = i32({1, 3, 1, 1}, {0, 0, 2});
  if (has("sequence_start")) {
    arrays["sequence_start"] = i32({2}, {1, 4}), arrays["sequence_end"] = i32({2}, {6, 8});
  }
  if (name == "ragged_page_attention") arrays["query_start_loc"] = i32({3}, {0, 2, 8});
  if (name == "grouped_matmul") arrays["group_sizes"] = i32({4}, {2, 0, 5, 1});
  if (name == "mean_pooling") {
    arrays["attention_mask"] = i32({2, 12}, std::vector<std::int32_t>(24, 1));
    arrays["attention_mask"].as<std::int32_t>()[3] = 0;
  }
  if (name == "ragged_page_attention_v3") {
    arrays["query"] = random_normal({8, 4, 8}, 1);
    arrays["key_pages"] = random_normal({6, 4, 2, 8}, 2);
    arrays["value_pages"] = random_normal({6, 4, 2, 8}, 3);
    arrays["cu_seqlens_q"] = i32({3}, {0, 2, 8}), arrays["cu_seqlens_k"] = i32({3}, {0, 5, 12});
    arrays["page_indices"] = i32({2, 2}, {3, 1, 0, 4});
  }
  if (name == "short_convolution" || name == "gated_delta_rule") {
    arrays["cu_seqlens"] = i32({3}, {0, 4, 11});
  }
  if (has("g_gamma") || has("decay")) {
    arrays["cu_seqlens"] = i32({3}, {0, 4, 11});
    arrays[has("decay") ? "decay" : "g_gamma"] = Tensor(DType::kFloat32, {4});
    request.arguments.options["softmax_scale"] = "0.5";
  }
  if (name.ends_with("native_sparse_attention")) request.arguments.options["block_size"] = "4";
  add_random_arrays(
      operation,
      {.extents = {{"B", arrays.contains("cu_seqlens") || has("block_indices") ? 1 : 2},
                   {"T", name == "ragged_page_attention" ? 8 : 12},
                   {"N", 2},
                   {"Hq", 4},
                   {"Hkv", 2},
                   {"D", 8},
                   {"Dv", 8},
                   {"K", 8},
                   {"V", 8},
                   {"S", 10},
                   {"pages", 6},
                   {"page_size", 4},
                   {"M", 9},
                   {"G", 4},
                   {"C", 5},
                   {"W", 4}},
       .seed = 4},
      request.arguments);
  return request;
}

TEST_CASE("verify: every operation makes each check, or says why it does not apply") {
  for (const Operation* row : operations()) {
    const Operation& operation = *row;
    const VerifyRequest request = small_request(operation);
    for (const Backend backend : test::usable_backends()) {
      if (!unavailable(operation, backend).empty()) continue;
      VerifyRequest on_backend = request;
      on_backend.backend = backend;
      const std::vector<VerifyCheck> checks = verify(on_backend);
      CHECK(checks.size() == 7);
      for (const VerifyCheck& check : checks) {
        INFO(operation.name << ": " << check.name << ": " << check.detail);
        CHECK(check.state != State::kFailed);
        CHECK_FALSE(check.detail.empty());
      }
      const bool selects = std::string(operation.name).ends_with("native_sparse_attention");
      const bool masked = operation.takes_mask() || selects;
      INFO(operation.name);
      CHECK(state_of(checks, "weights") == (masked ? State::kPassed : State::kSkipped));
      CHECK(state_of(checks, masked ? "unseen keys" : "unread inputs") == State::kPassed);
      CHECK(state_of(checks, masked ? "closed keys" : "other outputs") == State::kPassed);
    }
  }
}

TEST_CASE("verify: a call that reads slots after the end of a sequence is found") {
  const auto checks = verify_faulty(
      small_request(*find_operation("page_attention")), [](NamedArguments& arguments) {
        arguments.arrays.at("context_lens").as<std::int32_t>()[0] += 1;
      });
  CHECK(state_of(checks, "forward") == State::kFailed);
  CHECK(state_of(checks, "unread inputs") == State::kFailed);
  CHECK(state_of(checks, "other outputs") == State::kPassed);
}

TEST_CASE("verify: a recurrence that reads later tokens is found") {
  const auto checks =
      verify_faulty(small_request(*find_operation("recurrent_attention")),
                    [](NamedArguments& arguments) { arguments.options["reverse"] = "true"; });
  CHECK(state_of(checks, "unread inputs") == State::kPassed);
  CHECK(state_of(checks, "other outputs") == State::kFailed);
}

TEST_CASE("verify: more pairs than the reference can compute are refused before any work") {
  constexpr Index kTokens = 1 << 16;
  VerifyRequest request;
  request.operation = find_operation("flash_attention");
  const AxisExtents extents = {{"B", 1},   {"Tq", kTokens}, {"Tk", kTokens}, {"Hq", 4},
                               {"Hkv", 1}, {"D", 1},        {"Dv", 1}};
  add_random_arrays(*request.operation, {.extents = extents}, request.arguments);
  const std::string message =
      "verify: 65536 queries and 65536 keys in 4 heads have more than 8589934592 open pairs, too "
      "many for plain loops; verify a slice of the mask or fewer heads, or against another "
      "backend";
  CHECK_THROWS_WITH(verify(request), message);
  request.arguments.mask = causal(kTokens, kTokens);  // half of the cells, and the diagonal
  CHECK_THROWS_WITH(verify(request), message);
}

TEST_CASE("verify: masks without cells are refused") {
  const Mask two(2, 3, {causal(3, 3).plane(0, 0)}, std::vector<std::uint32_t>(6));
  for (const Range batches : {Range{0, 0}, Range{0, 2}}) {
    for (const Range heads : {Range{0, 0}, Range{0, 3}}) {
      for (const Range tokens : {Range{0, 0}, Range{0, 3}}) {
        const Mask mask = sliced(two, batches, heads, tokens, tokens);
        if (mask.cells() > 0) continue;
        VerifyRequest request;
        request.operation = find_operation("flash_attention");
        request.arguments.mask = mask, request.declared = mask;
        const Index heads_of_keys = std::max<Index>(mask.heads(), 1);
        const AxisExtents extents = {{"B", mask.batch()},
                                     {"Tq", mask.queries()},
                                     {"Tk", mask.keys()},
                                     {"Hq", heads_of_keys},
                                     {"Hkv", heads_of_keys},
                                     {"D", 2},
                                     {"Dv", 2}};
        add_random_arrays(*request.operation, {.extents = extents}, request.arguments);
        CHECK_THROWS_AS(verify(request), Error);
      }
    }
  }
}

TEST_CASE("verify: arrays of other ranks are refused before any work") {
  VerifyRequest request = request_for("flash_attention", causal(4, 4));
  request.arguments.arrays["query"] = Tensor(DType::kFloat32, {1, 1});
  CHECK_THROWS_WITH(verify(request), "query: expected 4 axes, got (1, 1)");
  request = request_for("flash_attention", causal(4, 4));
  request.arguments.arrays["key"] = Tensor(DType::kFloat32, {});
  CHECK_THROWS_WITH(verify(request), "key: expected 4 axes, got ()");
}

TEST_CASE("verify: large calls are checked without the reference and without reading each cell") {
  constexpr Index kTokens = 1 << 14;
  const Mask mask(diagonal_band(kTokens, kTokens, -9, 0));
  VerifyRequest request;
  request.operation = find_operation("flash_attention");
  request.arguments.mask = mask, request.declared = mask;
  const AxisExtents extents = {{"B", 1},   {"Tq", kTokens}, {"Tk", kTokens}, {"Hq", 1},
                               {"Hkv", 1}, {"D", 2},        {"Dv", 2}};
  add_random_arrays(*request.operation, {.extents = extents}, request.arguments);
  request.against = Backend::kCpu;
  const auto checks = verify(request);
  CHECK(all_passed(checks));
  CHECK(state_of(checks, "weights") == State::kSkipped);
  CHECK(state_of(checks, "unseen keys") == State::kSkipped);  // every key is seen by some query
  CHECK(state_of(checks, "closed keys") == State::kPassed);
}

}  // namespace

}  // namespace verify_cases
