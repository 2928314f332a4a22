// verify names what recurrences did with their state; results come from plain loops in float64.
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/attention/calls/by_name.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/verify/verdict.h"
#include "support/catch_compat.h"
#include "support/tensors.h"

namespace maskctl::attention {
namespace {

using test::i32;

constexpr Index kTokens = 20, kHeads = 2, kKeys = 4, kValues = 3;

/// A gated recurrence of packed sequences, with what may be dropped.
struct States {
  Tensor q = random_normal({1, kTokens, kHeads, kKeys}, 1);
  Tensor k = random_normal({1, kTokens, kHeads, kKeys}, 2);
  Tensor v = random_normal({1, kTokens, kHeads, kValues}, 3);
  Tensor g = random_normal({1, kTokens, kHeads}, 4);
  Tensor first = random_normal({3, kHeads, kKeys, kValues}, 5);
  std::vector<std::int32_t> ends = {0, 6, 7, 20};

  States() {
    for (float& x : g.as<float>()) x = -std::abs(x) / 4;
  }

  Tensor out(bool resets, bool begins, bool decays) const {
    Tensor out(DType::kFloat32, {1, kTokens, kHeads, kValues});
    const auto at = [](const Tensor& array, Index n) {
      return double{array.as<float>()[as_size(n)]};
    };
    for (Index h = 0; h < kHeads; ++h) {
      std::vector<double> state(kKeys * kValues);
      std::size_t sequence = 0;
      for (Index t = 0; t < kTokens; ++t) {
        while (ends[sequence + 1] <= t) ++sequence;
        if (t == 0 || (resets && ends[sequence] == t)) {
          const Index from = (static_cast<Index>(sequence) * kHeads + h) * kKeys * kValues;
          for (Index n = 0; n < kKeys * kValues; ++n) {
            state[as_size(n)] = begins ? at(first, from + n) : 0;
          }
        }
        for (Index x = 0; x < kKeys; ++x) {
          for (Index y = 0; y < kValues; ++y) {
            double& cell = state[as_size(x * kValues + y)];
            if (decays) cell *= std::exp(at(g, t * kHeads + h));
            cell += at(k, (t * kHeads + h) * kKeys + x) * at(v, (t * kHeads + h) * kValues + y);
            out.as<float>()[as_size((t * kHeads + h) * kValues + y)] += static_cast<float>(
                at(q, (t * kHeads + h) * kKeys + x) * cell / std::sqrt(double{kKeys}));
          }
        }
      }
    }
    return out;
  }

  std::string verdict(const char* operation, const Tensor& given) const {
    JudgedCall call;
    call.request.operation = find_operation(operation);
    call.request.arguments.arrays = {{"query", q},
                                     {"key", k},
                                     {"value", v},
                                     {"g", g},
                                     {"initial_state", first},
                                     {"cu_seqlens", i32({4}, ends)}};
    return judge_results(call, {{"out", given}}).judgement.text;
  }
};

TEST_CASE("verify names the borders, the state or the decay that a recurrence dropped",
          "[verify]") {
  const States states;
  for (const char* operation : {"gla_attention", "recurrent_attention"}) {
    INFO(operation);
    const auto says = [&](const Tensor& out, const char* words) {
      const std::string text = states.verdict(operation, out);
      INFO(text);
      CHECK(text.find(words) != text.npos);
    };
    says(states.out(true, true, true), "no other mask was tried");
    says(states.out(false, true, true), "without cu_seqlens: borders ignored, the state not reset");
    says(states.out(true, false, true), "without initial_state: each sequence from a state of 0");
    says(states.out(true, true, false), "without g: its decay not applied");
  }
}

}  // namespace
}  // namespace maskctl::attention
