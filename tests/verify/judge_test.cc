// Tests that `verify` names the mask that made an output, or says that it cannot.
#include "maskctl/verify/judge.h"

#include <algorithm>
#include <string>

#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/verify/verdict.h"
#include "support/backends.h"
#include "support/catch_compat.h"
#include "support/judged_problem.h"
#include "support/rounded_kernel.h"
#include "support/rounds.h"

namespace judge_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;

constexpr Index kTokens = 300;

Mask window(Index left) { return Mask(diagonal_band(kTokens, kTokens, -left, 0)); }

VerifyRequest request_for(const Mask& mask, DType dtype = DType::kFloat32, Index heads = 2,
                          Index kv_heads = 2) {
  VerifyRequest request;
  request.operation = find_operation("flash_attention");
  request.arguments.mask = mask;
  request.declared = mask;
  add_random_arrays(*request.operation,
                    {.extents = {{"B", 2},
                                 {"Tq", mask.queries()},
                                 {"Tk", mask.keys()},
                                 {"Hq", heads},
                                 {"Hkv", kv_heads},
                                 {"D", 16},
                                 {"Dv", 16}},
                     .seed = 5,
                     .dtype = dtype},
                    request.arguments);
  return request;
}

NamedResults made(const VerifyRequest& request, const Mask& mask,
                  Backend backend = Backend::kReference) {
  NamedArguments arguments = request.arguments;
  arguments.mask = mask;
  arguments.context.backend = backend;
  return {{"out", run(*request.operation, arguments).at("out")}};
}

Judgement judged(const VerifyRequest& request, const NamedResults& given) {
  std::vector<Neighbour> alternatives;
  for (const Neighbour& other : neighbours(*request.declared)) {
    alternatives.push_back({other.text, other.mask});
  }
  return verify_given(request, given, alternatives).judgement;
}

TEST_CASE("judge: random outputs are judged right, under the declared mask and under others") {
  Index unclear = 0;
  for (std::uint64_t seed = 0; seed < test::rounds(120U); ++seed) {
    const auto problem = twin::ProblemMaker(seed, 400).draw();
    const Judgement judgement = twin::judged(problem);
    INFO("seed " << seed << ", applied: " << problem.what << ", " << problem.apart
                 << " roundings apart: " << name(judgement.verdict) << ": " << judgement.text);
    CHECK_FALSE(twin::is_false(problem, judgement.verdict));
    unclear += judgement.verdict == Verdict::kUnclear;
  }
  CHECK(unclear <= 2);
}

TEST_CASE("judge: a window off by one is found in every precision, also if saved as float32",
          "[values]") {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    for (const bool saved_as_f32 : {false, true}) {
      VerifyRequest request = request_for(window(256), dtype);
      NamedResults wrong = made(request, window(257)), right = made(request, window(256));
      if (saved_as_f32) {
        for (auto* results : {&wrong, &right}) {
          results->at("out") = astype(results->at("out"), DType::kFloat32);
        }
        for (auto& [name, array] : request.arguments.arrays) array = astype(array, DType::kFloat32);
      }
      INFO(name(dtype));
      CHECK(judged(request, right).verdict == Verdict::kObeys);
      const Judgement judgement = judged(request, wrong);
      CHECK(judgement.verdict == Verdict::kAnother);
      CHECK(judgement.text == "window left 257 instead of 256");
      CHECK(judgement.where == "batches 0-1, heads 0-1, queries 257-299");
    }
  }
}

TEST_CASE("judge: a single head with another mask is found") {
  const VerifyRequest request = request_for(window(64), DType::kBFloat16, 4, 4);
  const Mask mixed = Mask::make(
      1, 4, kTokens, kTokens, [](Index, Index h) { return window(h == 2 ? 65 : 64).plane(0, 0); });
  const Judgement judgement = judged(request, made(request, mixed));
  CHECK(judgement.verdict == Verdict::kAnother);
  CHECK(judgement.text == "window left 65 instead of 64, in a part only");
  CHECK(judgement.where == "batches 0-1, head 2, queries 65-299");
}

TEST_CASE("judge: key heads that are read in turn instead of in groups are named") {
  const VerifyRequest request = request_for(window(40), DType::kFloat32, 8, 2);
  VerifyRequest turned = request;
  for (const char* name : {"key", "value"}) {
    const Tensor& from = request.arguments.arrays.at(name);
    Tensor to(from.dtype(), {2, kTokens, 8, 16});
    for (Index n = 0; n < 2 * kTokens; ++n) {
      for (Index h = 0; h < 8; ++h) {
        std::copy_n(from.as<float>().begin() + (n * 2 + h % 2) * 16, 16,
                    to.as<float>().begin() + (n * 8 + h) * 16);
      }
    }
    turned.arguments.arrays[name] = to;
  }
  const Judgement judgement = judged(request, made(turned, window(40)));
  CHECK(judgement.verdict == Verdict::kOtherCall);
  CHECK(judgement.text == "query head h with key head h mod Hkv instead of h / (Hq / Hkv)");
}

TEST_CASE("judge: another policy for rows without a key is named") {
  const Mask mask(diagonal_band(kTokens, kTokens, -kUnbounded, -3));  // queries 0 to 2 see no key
  VerifyRequest request = request_for(mask);
  CHECK(judged(request, made(request, mask)).verdict == Verdict::kObeys);
  for (const char* policy : {"nan", "mean"}) {
    VerifyRequest other = request;
    other.arguments.options["empty_row"] = policy;
    const NamedResults given = made(other, mask);
    CHECK(judged(other, given).verdict == Verdict::kObeys);
    const Judgement judgement = judged(request, given);
    CHECK(judgement.verdict == Verdict::kOtherCall);
    CHECK(judgement.text == std::string("rows without a key as by empty_row=") + policy);
    CHECK(judgement.where == "batches 0-1, heads 0-1, queries 0-2");
  }
}

TEST_CASE("judge: equal values give the verdict unclear") {
  VerifyRequest request = request_for(window(20));
  std::ranges::fill(request.arguments.arrays.at("value").as<float>(), 0.75F);
  const Judgement judgement = judged(request, made(request, window(20)));
  CHECK(judgement.verdict == Verdict::kUnclear);
  CHECK(judgement.text.find("window left 21 instead of 20") != std::string::npos);
}

TEST_CASE("judge: noise obeys no mask, and one leaking row of small weight is found") {
  const VerifyRequest request = request_for(window(100));
  NamedResults given = made(request, window(100));
  given.at("out").as<float>()[37 * 2 * 16] += 1e-4F;
  Judgement judgement = judged(request, given);
  INFO(judgement.text << " (" << judgement.where << ")");
  CHECK(judgement.verdict == Verdict::kNone);
  CHECK(judgement.where == "1 of 1200 rows are off: batch 0, head 0, query 37");
  given.at("out") = random_normal({2, kTokens, 2, 16}, 1234);
  judgement = judged(request, given);
  CHECK(judgement.verdict == Verdict::kNone);
}

TEST_CASE("judge: beside a noise of percents no other mask is named") {
  const VerifyRequest request = request_for(window(100));
  VerifyRequest noisy = request;
  Tensor& values = noisy.arguments.arrays.at("value");
  const Tensor noise = random_normal(values.shape(), 77);
  for (Index e = 0; e < values.elements(); ++e) {
    values.as<float>()[as_size(e)] *= 1 + 0.1F * noise.as<float>()[as_size(e)];
  }
  for (const Index left : {100, 101, 130}) {
    const Judgement judgement = judge_results({request}, made(noisy, window(left))).judgement;
    INFO(left << ": " << judgement.text << " (" << judgement.where << ")");
    CHECK(judgement.verdict != Verdict::kAnother);
    CHECK(judgement.verdict != Verdict::kObeys);
  }
}

TEST_CASE("judge: a lower precision of products is named, and a tolerance allows it") {
  VerifyRequest request = request_for(window(100));
  VerifyRequest rounded = request;
  for (auto& [name, array] : rounded.arguments.arrays) {
    array = astype(astype(array, DType::kBFloat16), DType::kFloat32);
  }
  const NamedResults given = made(rounded, window(100));
  CHECK(judged(request, given).verdict == Verdict::kNone);
  const auto searched = [&request](const NamedResults& results) {
    return judge_results({request}, results).judgement;
  };
  INFO(searched(given).text << " (" << searched(given).where << ")");
  CHECK(searched(given).verdict == Verdict::kOtherCall);
  CHECK(searched(given).text.starts_with("a noise of 0."));
  CHECK(searched(made(rounded, window(101))).text.starts_with("window left 101 instead of 100; a"));
  request.tolerance = Tolerance{2e-2, 2e-2};
  CHECK(judged(request, given).verdict == Verdict::kObeys);
  CHECK(judged(request, made(rounded, window(101))).verdict == Verdict::kAnother);
}

TEST_CASE("judge: gradients without the output are enough to judge the mask") {
  VerifyRequest request = request_for(window(64), DType::kBFloat16);
  for (const Index left : {64, 66}) {
    NamedArguments arguments = request.arguments;
    arguments.mask = window(left == 64 ? 64 : 65);
    arguments.gradient_seed = request.seed;
    NamedResults results = run(*request.operation, arguments);
    const Judgement judgement = judged(request, {{"grad_value", results.at("grad_value")}});
    INFO(left << ": " << judgement.text);
    CHECK(judgement.verdict == (left == 64 ? Verdict::kObeys : Verdict::kAnother));
  }
}

TEST_CASE("judge: arguments that close cells count as part of the declared mask") {
  VerifyRequest request = request_for(window(30));
  request.arguments.mask.reset();
  request.declared.reset();
  request.arguments.options = {{"causal", "true"}, {"sliding_window", "30+0"}};
  const std::optional<Mask> applied = applied_mask(request);
  REQUIRE(applied);
  CHECK(zip(Op::kXor, *applied, window(30)).count() == 0);
  request.declared = applied;
  VerifyRequest plain = request;
  plain.arguments.options.clear();
  CHECK(judged(request, made(plain, window(30))).verdict == Verdict::kObeys);
  CHECK(judged(request, made(plain, window(31))).text == "window left 31 instead of 30");
}

TEST_CASE("judge: backends obey under dropout, and an output with another seed obeys no mask") {
  VerifyRequest request = request_for(window(50));
  request.arguments.options["dropout_prob"] = "0.3";
  for (const Backend backend : test::judged_backends()) {
    CHECK(judged(request, made(request, window(50), backend)).verdict == Verdict::kObeys);
  }
  VerifyRequest other = request;
  other.arguments.options["dropout_seed"] = "9";
  CHECK(judged(request, made(other, window(50))).verdict == Verdict::kNone);
}

// The test cases below judge the outputs of 16-bit kernels.

struct KernelCall {
  VerifyRequest request;
  std::mt19937_64 random;

  Index below(Index n) { return static_cast<Index>(random() % static_cast<std::uint64_t>(n)); }
  NamedResults results(const Mask& mask) const {
    return twin::rounded_kernel(request.arguments, mask);
  }
};

Mask documents(const std::vector<Index>& lengths, bool causal = true) {
  Index tokens = 0;
  for (const Index length : lengths) tokens += length;
  Chain chain{{step::DocumentLengths{lengths}}};
  if (causal) chain.push_back({step::Causal{}});
  return maskctl::apply(Mask(full_plane(tokens, tokens)), chain);
}

/// Makes a call under a causal mask of four documents of 1 to 40 tokens, unless `mask` is given.
KernelCall kernel_call(std::uint64_t seed, std::optional<Mask> mask = {}) {
  KernelCall call{{}, std::mt19937_64(seed)};
  std::vector<Index> lengths(4);
  for (std::size_t n = 0; n < lengths.size(); ++n) lengths[n] = 1 + call.below(n % 2 == 0 ? 40 : 4);
  const Mask declared = mask ? *mask : documents(lengths);
  const Index tokens = declared.queries();
  call.request.operation = find_operation("flash_attention");
  call.request.declared = call.request.arguments.mask = declared;
  add_random_arrays(
      *call.request.operation,
      {.extents =
           {{"B", 1}, {"Tq", tokens}, {"Tk", tokens}, {"Hq", 2}, {"Hkv", 2}, {"D", 64}, {"Dv", 64}},
       .seed = seed,
       .dtype = seed % 2 == 0 ? DType::kBFloat16 : DType::kFloat16},
      call.request.arguments);
  call.request.arguments.arrays["cotangent_out"] = astype(
      random_normal({1, tokens, 2, 64}, seed + 1), call.request.arguments.arrays["query"].dtype());
  return call;
}

NamedResults only(const NamedResults& results, bool gradients) {
  NamedResults out;
  for (const auto& [name, array] : results) {
    if (name.starts_with("grad_") == gradients) out.emplace(name, array);
  }
  return out;
}

TEST_CASE("judge: outputs and gradients of 16-bit kernels obey, also in rows of few keys") {
  for (std::uint64_t seed = 0; seed < test::rounds(30U); ++seed) {
    KernelCall call = kernel_call(seed);
    const NamedResults results = call.results(*call.request.declared);
    for (const bool gradients : {false, true}) {
      const Judgement judgement = judged(call.request, only(results, gradients));
      INFO("seed " << seed << ", gradients " << gradients << ": " << judgement.text << " "
                   << judgement.where);
      CHECK((judgement.verdict == Verdict::kObeys || judgement.verdict == Verdict::kUnclear));
    }
  }
}

TEST_CASE(
    "judge: gradients that are pure rounding, in rows of one key, do not change the verdict") {
  for (const std::uint64_t seed : {0U, 1U}) {
    const KernelCall call = kernel_call(seed, documents({1, 1, 1, 1, 1}));
    const NamedResults results = call.results(*call.request.declared);
    Judgement judgement = judged(call.request, results);
    INFO(judgement.text << " " << judgement.where);
    CHECK(judgement.verdict == Verdict::kObeys);
    VerifyRequest exact = call.request;
    exact.arguments.gradient_seed = 3;
    exact.arguments.context.backend = Backend::kCpu;
    judgement = judged(exact, run(*exact.operation, exact.arguments));
    CHECK(judgement.verdict == Verdict::kObeys);
  }
}

TEST_CASE("judge: one leaked or missing cell is found if its weight exceeds the rounding") {
  Index tried = 0, found = 0;
  for (std::uint64_t seed = 100; seed < 100 + test::rounds(40U); ++seed) {
    KernelCall call = kernel_call(seed);
    const Mask& declared = *call.request.declared;
    const double rounding = seed % 2 == 0 ? 0x1p-8 : 0x1p-11;
    const Index h = call.below(2), i = 1 + call.below(declared.queries() - 1);
    const Index j = call.below(declared.keys());
    const Mask applied =
        Mask::make(1, 2, declared.queries(), declared.keys(), [&](Index, Index head) {
          const Mask cell(
              bands(declared.queries(), declared.keys(), {{{i, i + 1}, {{j, j + 1, 0, 0}}}}));
          return head == h ? zip(Op::kXor, declared, cell).plane(0, 0) : declared.plane(0, 0);
        });
    const Mask both = zip(Op::kOr, declared, applied);
    twin::RoundedHead head{twin::rows_of_head(call.request.arguments.arrays.at("query"), h),
                           twin::rows_of_head(call.request.arguments.arrays.at("key"), h),
                           {},
                           {},
                           *both.plane(0, h),
                           DType::kFloat32};
    const std::vector<float> p = head.powers(static_cast<std::size_t>(i));
    float sum = 0;
    for (const float x : p) sum += x;
    const double weight = p[static_cast<std::size_t>(j)] / sum;
    if (weight < rounding || weight > 1 - rounding) continue;
    ++tried;
    const Judgement judgement = judged(call.request, only(call.results(applied), false));
    UNSCOPED_INFO("seed " << seed << ": " << weight << " " << name(judgement.verdict));
    found += judgement.verdict == Verdict::kNone || judgement.verdict == Verdict::kAnother;
  }
  CHECK(tried >= 4);
  CHECK(20 * found >= 19 * tried);
}

TEST_CASE("judge: the verdict obeys states from which weight on a single cell would be found") {
  const KernelCall call = kernel_call(2);
  const NamedResults results = call.results(*call.request.declared);
  Judgement judgement = judged(call.request, only(results, false));
  CHECK(judgement.text.find("% of its row's weight, lighter ones were not") != std::string::npos);
  CHECK(judgement.least_cell > 0x1p-8);
  CHECK(judgement.least_cell < 0.1);
  judgement = judged(call.request, only(results, true));
  CHECK(judgement.text.find("single cells were not told apart") != std::string::npos);
}

TEST_CASE("judge: a document border that is moved by a few tokens is named") {
  for (const Index by : {-3, -1, 1, 2}) {
    KernelCall call = kernel_call(7, documents({20, 17, 24}));
    const NamedResults given = only(call.results(documents({20, 17 + by, 24 - by})), false);
    const Judgement judgement = judge_results({call.request}, given).judgement;
    CHECK(judgement.verdict == Verdict::kAnother);
    CHECK(judgement.text == "border 37 between documents at " + std::to_string(37 + by));
  }
}

}  // namespace

}  // namespace judge_cases
