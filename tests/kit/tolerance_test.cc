// Tests the tolerance of the cases against kernels that are sound in a low precision, written here
// as plain loops, and against one that loses a key.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "maskctl/kit/expected.h"
#include "maskctl/kit/judge.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/tensor/convert.h"
#include "support/catch_compat.h"

namespace maskctl::kit {
namespace {

/// What a sound kernel rounds beside its results: the weights before they meet the values, and the
/// logits before the softmax, as kernels do that write them to memory. `tile`: how many keys are
/// summed before the next ones, with another maximum.
struct Sound {
  DType dtype;
  bool weights, logits;
  Index tile;
};

/// Attention in float32 as a kernel computes it, tile by tile; with gradients of the softmax.
class Twin {
 public:
  Twin(const MadeCase& made, Sound how)
      : call_(made.call()), how_(how), made_(made), mask_(dense_from_mask(made.mask, 1 << 24)) {
    scale_ = static_cast<float>(call_.scale.value_or(1 / std::sqrt(double(call_.dim))));
    results_["out"] =
        Tensor(DType::kFloat32, {call_.batch, call_.queries, call_.heads, call_.value_dim});
    results_["lse"] = Tensor(DType::kFloat32, {call_.batch, call_.heads, call_.queries});
    if (made.arrays.contains("cotangent_out")) {
      for (const std::string name : {"query", "key", "value"}) {
        results_["grad_" + name] = Tensor(DType::kFloat32, made.arrays.at(name).shape());
      }
    }
  }

  std::map<std::string, Tensor> run() {
    for (Index b = 0; b < call_.batch; ++b) {
      for (Index h = 0; h < call_.heads; ++h) {
        for (Index q = 0; q < call_.queries; ++q) add_row(b, h, q);
      }
    }
    for (auto& [name, array] : results_) {
      if (name != "lse") array = astype(astype(array, how_.dtype), DType::kFloat32);
    }
    return std::move(results_);
  }

 private:
  float rounded(float x, bool rounds) const {
    if (!rounds || how_.dtype == DType::kFloat32) return x;
    return static_cast<float>(number_from_bits(how_.dtype, float_bits(how_.dtype, x)));
  }

  template <typename Array>
  static auto vector_of(Array& array, Index b, Index token, Index h) {
    const Index dim = array.extent(3);
    const Index first = ((b * array.extent(1) + token) * array.extent(2) + h) * dim;
    return array.template as<float>().subspan(as_size(first), as_size(dim));
  }
  std::span<const float> input(const char* name, Index b, Index token, Index h) const {
    return vector_of(made_.arrays.at(name), b, token, h);
  }
  static float dot(std::span<const float> a, std::span<const float> b) {
    float sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  }

  bool is_open(Index b, Index h, Index q, Index k) const {
    const Index plane = b * mask_.extent(1) + (mask_.extent(1) == 1 ? 0 : h);
    const Index at = (plane * call_.queries + q) * call_.keys + k;
    return mask_.as<std::uint8_t>()[as_size(at)] != 0;
  }

  float logit(Index b, Index h, Index q, Index k) const {
    float s = scale_ * dot(input("query", b, q, h), input("key", b, k, kv_head(h)));
    if (call_.soft_cap) {
      const float cap = static_cast<float>(*call_.soft_cap);
      s = cap * std::tanh(s / cap);
    }
    if (call_.bias) {
      const Index at = (h * call_.queries + q) * call_.keys + k;
      s += made_.arrays.at("bias").as<float>()[as_size(at)];
    }
    return rounded(s, how_.logits);
  }
  Index kv_head(Index h) const { return h / (call_.heads / call_.kv_heads); }

  void add_row(Index b, Index h, Index q) {
    std::vector<std::pair<Index, float>> open;
    for (Index k = 0; k < call_.keys; ++k) {
      if (is_open(b, h, q, k)) open.emplace_back(k, logit(b, h, q, k));
    }
    float most = -INFINITY, sum = 0;
    std::vector<float> out(as_size(call_.value_dim), 0);
    for (Index t = 0; t < call_.sinks; ++t) {
      const float sink = made_.arrays.at("sinks").as<float>()[as_size(h * call_.sinks + t)];
      sum = sum * (std::isinf(most) ? 0 : std::exp(most - std::max(most, sink))) +
            std::exp(sink - std::max(most, sink));
      most = std::max(most, sink);
    }
    for (std::size_t from = 0; from < open.size(); from += as_size(how_.tile)) {
      const std::size_t end = std::min(open.size(), from + as_size(how_.tile));
      float next = most;
      for (std::size_t i = from; i < end; ++i) next = std::max(next, open[i].second);
      const float by = std::isinf(most) ? 0 : std::exp(most - next);
      sum *= by;
      for (float& x : out) x *= by;
      most = next;
      for (std::size_t i = from; i < end; ++i) {
        const float weight = std::exp(open[i].second - most);
        sum += weight;
        const auto value = input("value", b, open[i].first, kv_head(h));
        const float used = rounded(weight, how_.weights);
        for (std::size_t e = 0; e < out.size(); ++e) out[e] += used * value[e];
      }
    }
    for (float& x : out) x = sum > 0 ? x / sum : 0;
    const float lse = sum > 0 ? most + std::log(sum) : -INFINITY;
    results_["lse"].as<float>()[as_size((b * call_.heads + h) * call_.queries + q)] = lse;
    std::ranges::copy(out, vector_of(results_["out"], b, q, h).begin());
    if (results_.contains("grad_query")) add_gradients(b, h, q, open, out, lse);
  }

  void add_gradients(Index b, Index h, Index q, const std::vector<std::pair<Index, float>>& open,
                     std::vector<float> out, float lse) {
    for (float& x : out) x = rounded(x, true);  // it is read from memory
    const auto d_out = input("cotangent_out", b, q, h);
    const float delta = dot(d_out, out);
    for (const auto& [k, s] : open) {
      const float weight = std::exp(s - lse);
      const Index kv = kv_head(h);
      const float used = rounded(weight, how_.weights);
      const auto d_value = vector_of(results_["grad_value"], b, k, kv);
      for (std::size_t e = 0; e < d_value.size(); ++e) d_value[e] += used * d_out[e];
      float d_s = weight * (dot(d_out, input("value", b, k, kv)) - delta);
      if (call_.soft_cap) {
        const float tanh = s / static_cast<float>(*call_.soft_cap);
        d_s *= 1 - tanh * tanh;
      }
      d_s = scale_ * rounded(d_s, how_.weights);
      const auto query = input("query", b, q, h), key = input("key", b, k, kv);
      const auto d_query = vector_of(results_["grad_query"], b, q, h);
      const auto d_key = vector_of(results_["grad_key"], b, k, kv);
      for (std::size_t e = 0; e < key.size(); ++e) {
        d_query[e] += d_s * key[e];
        d_key[e] += d_s * query[e];
      }
    }
  }

  const Call& call_;
  Sound how_;
  const MadeCase& made_;
  Tensor mask_;
  float scale_;
  std::map<std::string, Tensor> results_;
};

/// The largest error of a result in units of its tolerance.
double worst_of(const Tensor& given, const Bounded& expected) {
  const auto is = given.as<float>();
  const auto should = expected.values.as<double>(), may = expected.tolerance.as<double>();
  double worst = 0;
  for (std::size_t i = 0; i < is.size(); ++i) {
    const double apart = std::abs(is[i] - should[i]);
    if (is[i] == should[i]) continue;
    worst = std::max(worst, may[i] > 0 && std::isfinite(apart) ? apart / may[i] : HUGE_VAL);
  }
  return worst;
}

double worst_of(const std::map<std::string, Tensor>& given, const Expected& expected) {
  double worst =
      std::max(worst_of(given.at("out"), expected.out), worst_of(given.at("lse"), expected.lse));
  if (!expected.grad_query) return worst;
  worst = std::max(worst, worst_of(given.at("grad_query"), *expected.grad_query));
  worst = std::max(worst, worst_of(given.at("grad_key"), *expected.grad_key));
  return std::max(worst, worst_of(given.at("grad_value"), *expected.grad_value));
}

constexpr DType kDtypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

TEST_CASE("kit: sound kernels of each precision stay within the tolerance", "[tolerance]") {
  for (const DType dtype : kDtypes) {
    double most = 0;
    for (const Rule* const rule : all_rules()) {
      if (rule->id.starts_with("nan.")) continue;  // whose loops would read NaN
      for (std::size_t i = 0; i < rule->cases.size(); ++i) {
        const MadeCase made = make_case(*rule, i, dtype);
        const Expected results = expected(made);
        for (const Sound how : {Sound{dtype, false, false, 16}, Sound{dtype, true, false, 64},
                                Sound{dtype, true, true, 1000}}) {
          INFO(made.id << " in " << name(dtype) << ", rounds weights " << how.weights << ", logits "
                       << how.logits);
          const double worst = worst_of(Twin(made, how).run(), results);
          CHECK(worst <= 1);
          most = std::max(most, worst);
        }
      }
    }
    INFO("the most of the tolerance that is used in " << name(dtype));
    CHECK(most > 0.1);  // it is no wider than it has to be; -s prints how much
  }
}

TEST_CASE("kit: a window that is short of a key is refused at 300 keys in each precision",
          "[tolerance]") {
  for (const Rule* const rule : all_rules()) {
    if (rule->id != "window.keys") continue;
    Rule shorter = *rule;
    REQUIRE(shorter.cases[3].call.keys == 300);
    REQUIRE(shorter.cases[3].steps == "window:keys=127");
    shorter.cases[3].steps = "window:keys=126";
    for (const DType dtype : kDtypes) {
      INFO(name(dtype));
      const MadeCase made = make_case(*rule, 3, dtype);
      const MadeCase wrong = make_case(shorter, 3, dtype);  // of the same inputs
      const auto given = Twin(wrong, {dtype, true, false, 64}).run();
      const Expected results = expected(made);
      CHECK(worst_of(given.at("out"), results.out) > 2);
      CHECK(worst_of(given.at("out"), expected(wrong).out) <= 1);
      CHECK(judge(made, {{"out", given.at("out")}}).outcome == Outcome::kAnother);
    }
  }
}

TEST_CASE("kit: a tolerance grows with what is summed, and falls where weights are spread") {
  const MadeCase made = make_case(*all_rules()[4], 4, DType::kBFloat16);
  REQUIRE(made.id == "causal.square-5");
  const Bounded out = expected(made).out;
  const auto mean_of = [&out](Index query) {
    double sum = 0;
    for (Index e = 0; e < 128; ++e) {
      sum += out.tolerance.as<double>()[as_size(query * 128 + e)] / 128;
    }
    return sum;
  };
  CHECK(mean_of(299) < mean_of(0) / 2);
  CHECK(expected(made).depth == 300);
  const auto [least, most] = std::ranges::minmax(out.tolerance.as<double>());
  CHECK(least > 0);
  CHECK(most < 0.3);  // in the first rows, of a key each
}

}  // namespace
}  // namespace maskctl::kit
