// Tests the cases of the kit: each rule has some, they are small, and their inputs, masks and
// expected results are what the page says.
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "maskctl/kit/expected.h"
#include "maskctl/kit/judge.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/verify/verify.h"
#include "support/catch_compat.h"

namespace maskctl::kit {
namespace {

template <typename F>
void for_each_rule(const F& f) {
  for (const Section& section : sections()) {
    for (const Rule& rule : section.rules) f(rule);
  }
}

template <typename F>
void for_each_case(const F& f) {
  for_each_rule([&f](const Rule& rule) {
    for (std::size_t i = 0; i < rule.cases.size(); ++i) {
      f(make_case(rule, i, DType::kFloat32));
    }
  });
}

const Rule& rule_of(std::string_view id) {
  const Rule* found = nullptr;
  for_each_rule([&](const Rule& rule) { found = rule.id == id ? &rule : found; });
  REQUIRE(found);
  return *found;
}

TEST_CASE("kit: each rule has a name of its own and three cases of different sizes") {
  std::set<std::string_view> ids;
  for_each_rule([&ids](const Rule& rule) {
    INFO(rule.id);
    CHECK(ids.insert(rule.id).second);
    CHECK(rule.says.ends_with('.'));
    std::set<std::pair<Index, Index>> sizes;
    for (const Case& one : rule.cases) {
      sizes.insert({one.call.queries, one.call.keys});
      CHECK(one.call.heads % one.call.kv_heads == 0);
      for (const Index extent : {one.call.queries, one.call.keys}) {
        CHECK((extent >= 1 && extent <= 300));
      }
    }
    CHECK(sizes.size() >= 3);
  });
}

TEST_CASE("kit: only the rules about rows without keys have such rows") {
  for_each_case([](const MadeCase& made) {
    INFO(made.id);
    const Tensor cells = dense_from_mask(made.mask, 1 << 24);
    const auto open = cells.as<std::uint8_t>();
    const Index keys = made.call().keys;
    bool empty = false;
    for (Index row = 0; row < cells.elements() / keys; ++row) {
      const auto of_row = open.subspan(as_size(row * keys), as_size(keys));
      empty = empty || std::ranges::count(of_row, 0) == keys;
    }
    const std::string_view id = made.rule->id;
    CHECK(empty == (id.starts_with("row.empty") || id.ends_with(".more-queries")));
  });
}

TEST_CASE("kit: a case asks one thing: what stands beside its mask belongs to its rule") {
  for_each_case([](const MadeCase& made) {
    INFO(made.id);
    const std::string_view id = made.rule->id;
    const Call& call = made.call();
    const bool groups = id.starts_with("heads.") || id == "gradient.groups";
    CHECK((call.heads != call.kv_heads) == groups);
    CHECK(call.scale.has_value() == (id == "scale.given"));
    CHECK(call.soft_cap.has_value() == (id == "cap.tanh" || id == "gradient.cap"));
    CHECK(call.bias == (id == "bias.added"));
    CHECK((call.sinks > 0) == id.starts_with("sink-logits."));
    CHECK((call.dim == call.value_dim) == (id != "value.width"));
  });
}

TEST_CASE("kit: where a diagonal lies matters only to the rules about it") {
  for_each_case([](const MadeCase& made) {
    INFO(made.id);
    const std::string_view id = made.rule->id;
    bool subject =
        id.starts_with("causal.") || id.starts_with("window.") || id.starts_with("lengths.");
    for (const std::string_view one : {"chunk.cached", "doc.ragged", "pad.left"}) {
      subject = subject || id == one;
    }
    const Call& call = made.call();
    const bool diagonal = made.source->steps.find("causal") != std::string_view::npos ||
                          made.source->steps.find("window") != std::string_view::npos;
    CHECK((subject || !diagonal || call.queries == call.keys));
  });
}

TEST_CASE("kit: tokens that hold NaN are seen by no query") {
  for_each_case([](const MadeCase& made) {
    INFO(made.id);
    const Range spoilt = made.call().nan_keys;
    for (Index b = 0; b < made.mask.batch(); ++b) {
      for (Index h = 0; h < made.mask.heads(); ++h) {
        CHECK(made.mask.plane(b, h)->count({0, made.mask.queries()}, spoilt) == 0);
      }
    }
  });
}

TEST_CASE("kit: inputs are the numbers that the page says") {
  // Computed from the text of the page by another program.
  const Tensor some = numbers("causal.square-1", "query", {2, 2});
  const float expected[] = {1.5322742462158203F, -0.286517858505249F, 0.9536211490631104F,
                            -0.9762165546417236F};
  for (std::size_t i = 0; i < 4; ++i) CHECK(some.as<float>()[i] == expected[i]);
  double sum = 0, squares = 0;
  const Tensor many = numbers("a", "b", {100000});
  for (const float x : many.as<float>()) {
    CHECK((x >= -2 && x < 2));
    sum += x, squares += double{x} * x;
  }
  CHECK(std::abs(sum / 100000) < 0.02);
  CHECK(std::abs(squares / 100000 - 4.0 / 3) < 0.02);
}

TEST_CASE("kit: masks are the pairs of their sentences") {
  using Pair = std::function<bool(Index q, Index k)>;
  const std::map<std::string, Pair> sentences = {
      {"causal.square-2", [](Index q, Index k) { return k <= q; }},
      {"causal.top-left-1", [](Index q, Index k) { return k <= q; }},
      {"causal.top-left-3", [](Index q, Index k) { return k <= q; }},
      {"causal.bottom-right-2", [](Index q, Index k) { return k <= q + 12 - 5; }},
      {"causal.more-queries-1", [](Index q, Index k) { return k <= q + 5 - 12; }},
      {"causal.more-queries-4", [](Index q, Index k) { return k <= q + 129 - 300; }},
      {"causal.offset-1", [](Index q, Index k) { return k <= q + 20; }},
      {"window.left-right-1", [](Index q, Index k) { return q - 3 <= k && k <= q + 2; }},
      {"window.keys-1", [](Index q, Index k) { return q - 4 < k && k <= q; }},
      {"window.both-1", [](Index q, Index k) { return std::abs(k - q) <= 3; }},
      {"window.zero-1", [](Index q, Index k) { return q == k; }},
      {"window.unbounded-2", [](Index q, Index k) { return q - 7 <= k; }},
      {"window.bottom-right-2",
       [](Index q, Index k) { return q + 54 - 12 <= k && k <= q + 54 + 3; }},
      {"window.more-queries-1", [](Index q, Index k) { return q - 7 - 4 < k && k <= q - 7; }},
      {"window.more-queries-2",
       [](Index q, Index k) { return q - 33 - 12 <= k && k <= q - 33 + 3; }},
      {"chunk.size-1", [](Index q, Index k) { return q / 6 == k / 6; }},
      {"chunk.causal-1", [](Index q, Index k) { return q / 6 == k / 6 && k <= q; }},
      {"chunk.cached-2", [](Index q, Index k) { return (q + 23) / 9 == k / 9 && k <= q + 23; }},
      {"steps.order-1", [](Index q, Index k) { return k <= q || k < 5; }},
      {"steps.order-2", [](Index q, Index k) { return k <= q && (q - 6 < k || k < 4); }},
      {"dilated.stride-1", [](Index q, Index k) { return (q - k) % 2 == 0; }},
      {"doc.recur-1",
       [](Index q, Index k) {
         const auto id = [](Index t) { return t < 4 || (t >= 8 && t < 13) ? 0 : 1; };
         return id(q) == id(k);
       }},
      {"doc.causal-1",
       [](Index q, Index k) {
         const auto id = [](Index t) { return t < 5 ? 0 : t < 13 ? 1 : 2; };
         return id(q) == id(k) && k <= q;
       }},
      {"doc.pad-id-1", [](Index q, Index k) { return k < 12 && (q < 5) == (k < 6); }},
      {"pad.right-1", [](Index, Index k) { return k < 11; }},
      {"pad.left-1", [](Index, Index k) { return k >= 17 - 11; }},
      {"pad.flags-1", [](Index, Index k) { return k < 11; }},
      {"pad.causal-1", [](Index q, Index k) { return k <= q && k < 11; }},
      {"pad.window-1", [](Index q, Index k) { return q - 8 < k && k <= q && k < 11; }},
      {"pad.window-4", [](Index q, Index k) { return q - 100 <= k && k <= q && k < 250; }},
      {"lengths.causal-1", [](Index q, Index k) { return k <= q + 23 - 1; }},
      {"lengths.causal-4", [](Index q, Index k) { return k <= q + 255 - 127; }},
      {"lengths.window-1",
       [](Index q, Index k) { return q + 22 - 8 < k && k <= q + 22 && k < 23; }},
      {"lengths.window-4", [](Index q, Index k) { return q + 128 - 64 < k && k <= q + 128; }},
      {"prefix.open-1", [](Index q, Index k) { return k <= q || k < 5; }},
      {"sinks.window-1", [](Index q, Index k) { return k <= q && (q - 4 < k || k < 2); }},
      {"global.tokens-1",
       [](Index q, Index k) {
         return std::abs(q - k) <= 2 || q == 0 || k == 0 || q == 10 || k == 10;
       }},
      {"tree.path-1",
       [](Index q, Index k) { return k <= q && (k < 3 || q < 3 || (q < 5) == (k < 5)); }},
      {"block.causal-1", [](Index q, Index k) { return k / 4 <= q / 4; }},
      {"block.diffusion-1",
       [](Index q, Index k) {
         if (q < 8) return k < 8 ? q / 4 == k / 4 : (k - 8) / 4 < q / 4;
         return k >= 8 && (k - 8) / 4 <= (q - 8) / 4;
       }},
      {"block.map-1",
       [](Index q, Index k) {
         constexpr int kMap[3][3] = {{1, 0, 1}, {1, 1, 0}, {0, 1, 1}};
         return kMap[q / 4][k / 4] != 0;
       }},
  };
  Index checked = 0;
  for_each_case([&](const MadeCase& made) {
    const auto sentence = sentences.find(made.id);
    if (sentence == sentences.end()) return;
    INFO(made.id);
    ++checked;
    const Tensor cells = dense_from_mask(made.mask, 1 << 24);
    std::size_t at = 0;
    bool same = true;
    for (Index q = 0; q < made.call().queries; ++q) {
      for (Index k = 0; k < made.call().keys; ++k) {
        same = same && (cells.as<std::uint8_t>()[at++] != 0) == sentence->second(q, k);
      }
    }
    CHECK(same);
  });
  CHECK(checked == std::ssize(sentences));
}

/// The largest difference of two arrays; equal infinities do not differ.
double apart(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  const Tensor x = astype(a, DType::kFloat64), y = astype(b, DType::kFloat64);
  double most = 0;
  for (std::size_t i = 0; i < x.as<double>().size(); ++i) {
    const double one = x.as<double>()[i], other = y.as<double>()[i];
    if (one != other) most = std::max(most, std::abs(one - other));
    if (std::isnan(one) || std::isnan(other)) most = HUGE_VAL;
  }
  return most;
}

TEST_CASE("kit: what is expected is what the reference computes, up to the rounding of f32") {
  for_each_case([](const MadeCase& made) {
    INFO(made.id);
    const Expected results = expected(made);
    const auto given = run_backend(made, attention::Backend::kReference);
    CHECK(apart(given.at("out"), results.out.values) < 1e-6);
    CHECK(apart(given.at("lse"), results.lse.values) < 4e-6);
    if (made.rule->asks != Asks::kGradients) return;
    CHECK(apart(given.at("grad_query"), results.grad_query->values) < 1e-5);
    CHECK(apart(given.at("grad_key"), results.grad_key->values) < 1e-5);
    CHECK(apart(given.at("grad_value"), results.grad_value->values) < 1e-5);
  });
}

TEST_CASE("kit: a smaller window is another mask, and another lse is wrong") {
  const MadeCase made = make_case(rule_of("window.keys"), 1, DType::kFloat32);
  const auto right = run_backend(made, attention::Backend::kCpu);
  CHECK(judge(made, right).outcome == Outcome::kObeys);

  Rule rule = rule_of("window.keys");
  rule.cases[1].steps = "window:keys=15";
  const MadeCase other = make_case(rule, 1, DType::kFloat32);  // of the same inputs
  const CaseVerdict verdict = judge(made, run_backend(other, attention::Backend::kCpu));
  CHECK(verdict.outcome == Outcome::kAnother);
  CHECK(verdict.text.find("window left 14 instead of 15") != std::string::npos);

  const MadeCase natural = make_case(rule_of("lse.natural"), 0, DType::kFloat32);
  auto to_base_2 = run_backend(natural, attention::Backend::kCpu);
  for (float& x : to_base_2.at("lse").as<float>()) x /= std::log(2.0F);
  CHECK(judge(natural, to_base_2).outcome == Outcome::kWrong);
}

TEST_CASE("kit: results that a rule is about and that were not given are no pass") {
  const MadeCase made = make_case(rule_of("lse.natural"), 0, DType::kFloat32);
  auto given = run_backend(made, attention::Backend::kCpu);
  given.erase("lse");
  CHECK(judge(made, given).outcome == Outcome::kSkipped);
  CHECK(judge(made, {}).outcome == Outcome::kFails);
}

TEST_CASE("kit: an output of another shape is wrong") {
  const MadeCase made = make_case(rule_of("causal.square"), 1, DType::kFloat32);
  CHECK(judge(made, {{"out", Tensor(DType::kFloat32, {1, 2, 17, 64})}}).outcome == Outcome::kWrong);
}

}  // namespace
}  // namespace maskctl::kit
