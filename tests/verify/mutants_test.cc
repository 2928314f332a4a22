// Tests that each mutant is wrong in the way that its truth says, and in no other: plain loops make
// its results again from the truth alone.
#include "maskctl/verify/mutants/mutants.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <numeric>
#include <set>
#include <string>

#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/pad.h"
#include "maskctl/mask/steps/scoped.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/mask/steps/within.h"
#include "maskctl/tensor/convert.h"
#include "support/catch_compat.h"
#include "support/plain_attention.h"

namespace mutant_cases {
namespace {

using namespace maskctl;
using namespace maskctl::attention;
using twin::PlainCall;
using twin::PlainResult;

MutantCall call_of(Index queries, Index keys, Chain steps, Index batch = 1, Index heads = 2) {
  MutantCall call;
  call.base = full_mask(batch, 1, queries, keys);
  call.steps = std::move(steps);
  call.batch = batch;
  call.heads = call.kv_heads = heads;
  call.dim = 8;
  call.dtype = DType::kFloat32;
  return call;
}

NamedArray numbers(std::vector<std::int64_t> values) {
  Tensor out(DType::kInt64, {static_cast<Index>(values.size())});
  std::ranges::copy(values, out.as<std::int64_t>().begin());
  return {std::move(out), ""};
}

std::vector<MutantCall> small_calls() {
  const step::Causal causal;
  std::vector<MutantCall> out;
  out.push_back(call_of(10, 10, {causal, step::Window{.left = 4}, step::Sinks{2}, causal}));
  out.push_back(call_of(14, 14, {step::DocumentLengths{{5, 3, 6}}, causal}));
  step::Within decode;
  decode.lengths = {1, 6, 1};
  decode.kv_lengths = {7, 9, 8};
  decode.chain = {step::Window{.left = 2, .right = 0, .align = Align::kBottomRight}};
  out.push_back(call_of(8, 24, {decode}));
  out.push_back(call_of(12, 20, {step::Causal{Align::kBottomRight, {}}}));
  out.push_back(call_of(8, 8, {causal, step::Pad{numbers({7, 3}), true}}, 2));
  out.push_back(call_of(16, 16, {causal, step::Prefix{6}}));
  out.push_back(call_of(14, 14, {step::Chunk{5}, causal}));
  step::Scoped other;
  other.members = {{1, 3}};
  other.chain = {step::Window{.left = 3}};
  MutantCall heads = call_of(8, 8, {causal, other}, 1, 4);
  heads.base = full_mask(1, 4, 8, 8);
  heads.kv_heads = 2;
  heads.scale = 0.5;
  heads.soft_cap = 1.5;
  heads.sinks = 2;
  heads.bias = true;
  out.push_back(heads);
  return out;
}

std::vector<double> doubles(const Tensor& tensor) {
  const auto numbers = tensor.as<float>();
  return {numbers.begin(), numbers.end()};
}

bool is_open(const Plane& plane, Index q, Index k) {
  return plane.count({q, q + 1}, {k, k + 1}) == 1;
}

/// The declared call in plain arrays.
PlainCall plain(const Mutants& of, const Mutant& mutant) {
  const MutantCall& call = of.call();
  PlainCall c;
  c.batch = call.batch;
  c.heads = call.heads;
  c.kv_heads = call.kv_heads;
  c.queries = of.mask().queries();
  c.keys = of.mask().keys();
  c.dim = call.dim;
  c.query = doubles(mutant.query);
  c.key = doubles(mutant.key);
  c.value = doubles(mutant.value);
  if (mutant.bias) c.bias = doubles(*mutant.bias);
  if (mutant.sinks) c.sinks = doubles(*mutant.sinks);
  c.scale = call.scale.value_or(1 / std::sqrt(static_cast<double>(call.dim)));
  c.cap = call.soft_cap.value_or(0);
  for (Index h = 0; h < c.heads; ++h) c.key_head.push_back(h / (c.heads / c.kv_heads));
  for (Index b = 0; b < c.batch; ++b) {
    for (Index h = 0; h < c.heads; ++h) {
      for (Index q = 0; q < c.queries; ++q) {
        for (Index k = 0; k < c.keys; ++k) {
          c.open.push_back(is_open(*of.mask().plane(b, h), q, k) ? 1 : 0);
        }
      }
    }
  }
  return c;
}

/// Changes the cells that the truth lists, and checks that they had the other state before and are
/// all that it counts. For an inverted mask all cells are changed, because the list may be cut.
void change_cells(const MutantTruth& truth, PlainCall& c) {
  if (truth.kind == "mask-inverted") {
    CHECK(truth.opened + truth.closed == static_cast<Index>(c.open.size()));
    CHECK(truth.closed == std::ranges::count(c.open, 1));
    for (char& open : c.open) open = open != 0 ? 0 : 1;
    return;
  }
  Index opened = 0, closed = 0, wrong = 0;
  for (const ChangedCells& cells : truth.cells) {
    for (Index q = cells.queries.begin; q < cells.queries.end; ++q) {
      for (Index k = cells.keys.begin; k < cells.keys.end; ++k) {
        char& open = c.open[c.cell(cells.batch, cells.head, q, k)];
        wrong += (open != 0) == cells.opened ? 1 : 0;
        open = cells.opened ? 1 : 0;
        ++(cells.opened ? opened : closed);
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(opened == truth.opened);
  CHECK(closed == truth.closed);
}

/// The whole numbers in a text.
std::vector<Index> numbers_in(const std::string& text) {
  std::vector<Index> out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] < '0' || text[i] > '9') continue;
    out.push_back(0);
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
      out.back() = 10 * out.back() + (text[i] - '0');
    }
  }
  return out;
}

/// The results with row q of each head replaced by row order[q].
void reorder(const PlainCall& c, const std::vector<Index>& order, PlainResult& r) {
  const PlainResult from = r;
  for (Index b = 0; b < c.batch; ++b) {
    for (Index h = 0; h < c.heads; ++h) {
      for (Index q = 0; q < c.queries; ++q) {
        const Index other = order[as_size(q)];
        for (Index k = 0; k < c.keys; ++k) {
          r.weights[c.cell(b, h, q, k)] = from.weights[c.cell(b, h, other, k)];
        }
        r.lse[as_size((b * c.heads + h) * c.queries + q)] =
            from.lse[as_size((b * c.heads + h) * c.queries + other)];
      }
    }
  }
}

/// Changes the call as mutants of the group kCall do before the softmax.
void change_call(const MutantTruth& truth, PlainCall& c) {
  if (truth.kind == "scale-one") c.scale = 1;
  if (truth.kind == "scale-twice") c.scale = 1 / static_cast<double>(c.dim);
  if (truth.kind == "scale-log2e") c.scale *= std::numbers::log2e;
  if (truth.kind == "cap-dropped") c.cap = 0;
  if (truth.kind == "cap-after-mask") c.caps_closed = true;
  if (truth.kind == "sinks-dropped") c.sinks.clear();
  if (truth.kind == "sinks-twice") {
    const auto n = c.sinks.size() / as_size(c.heads);
    std::vector<double> twice;
    for (std::size_t i = 0; i < 2 * c.sinks.size(); ++i) {
      twice.push_back(c.sinks[i / (2 * n) * n + i % n]);
    }
    c.sinks = twice;
  }
  if (truth.kind == "bias-dropped") c.bias.clear();
  if (truth.kind == "bias-negated") {
    for (double& x : c.bias) x = -x;
  }
  if (truth.kind == "key-heads") {
    for (Index h = 0; h < c.heads; ++h) c.key_head[as_size(h)] = h % c.kv_heads;
  }
}

/// Changes the results as mutants of the group kResult do after the softmax.
void change_result(const MutantTruth& truth, const PlainCall& c, PlainResult& r) {
  const std::vector<Index> said = numbers_in(truth.text);
  std::vector<Index> order(as_size(c.queries));
  std::iota(order.begin(), order.end(), Index{0});
  if (truth.kind == "rows-reversed") {
    std::ranges::reverse(order);
    return reorder(c, order, r);
  }
  if (truth.kind == "rows-zigzag") {
    const Index ranks = said[0], chunk = c.queries / (2 * ranks);
    order.clear();
    for (Index rank = 0; rank < ranks; ++rank) {
      for (Index i = 0; i < chunk; ++i) order.push_back(rank * chunk + i);
      for (Index i = 0; i < chunk; ++i) order.push_back((2 * ranks - 1 - rank) * chunk + i);
    }
    return reorder(c, order, r);
  }
  if (truth.kind == "rows-stale") {
    for (Index q = said[0]; q <= said[1]; ++q) order[as_size(q)] = q - 64;
    return reorder(c, order, r);
  }
  for (Index row = 0; row < c.batch * c.heads * c.queries; ++row) {
    const Index q = row % c.queries, h = row / c.queries % c.heads, b = row / c.queries / c.heads;
    double* const w = r.weights.data() + row * c.keys;
    double& lse = r.lse[as_size(row)];
    const bool missing = (truth.kind == "rows-missing" && q >= said[0] && q <= said[1]) ||
                         (truth.kind == "head-missing" && h == said[0]) ||
                         (truth.kind == "batch-missing" && b == said[0]);
    if (missing) {
      std::fill(w, w + c.keys, 0.0);
      lse = 0;
    }
    if (truth.kind == "empty-slots") {
      const double sum = std::exp(lse) + static_cast<double>(said[0]);
      for (Index k = 0; k < c.keys; ++k) w[k] *= std::exp(lse) / sum;
      lse = std::log(sum);
    }
    if (truth.kind.starts_with("merged-")) {
      double left = 0, right = 0;
      for (Index k = 0; k < c.keys; ++k) (k < said[0] ? left : right) += w[k];
      if (left == 0 || right == 0) continue;
      double share = 0.5;
      if (truth.kind == "merged-by-exp2") {
        const double a = std::exp2(lse + std::log(left)), z = std::exp2(lse + std::log(right));
        share = a / (a + z);
      }
      for (Index k = 0; k < c.keys; ++k) {
        w[k] *= (left + right) * (k < said[0] ? share / left : (1 - share) / right);
      }
    }
    if (truth.kind == "lse-base-2") lse /= std::numbers::ln2;
  }
}

double most_apart(const Tensor& seen, const std::vector<double>& expected) {
  double most = 0;
  const auto values = seen.as<float>();
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double x = values[i];
    if (x != expected[i]) most = std::max(most, std::fabs(x - expected[i]));
  }
  return most;
}

/// The largest weight that some row lost or gained.
double moved_weight(const PlainCall& c, const std::vector<double>& before,
                    const std::vector<double>& after) {
  double most = 0;
  for (std::size_t row = 0; row < before.size() / as_size(c.keys); ++row) {
    double taken = 0, given = 0;
    for (std::size_t k = row * as_size(c.keys); k < (row + 1) * as_size(c.keys); ++k) {
      taken += std::max(0.0, before[k] - after[k]);
      given += std::max(0.0, after[k] - before[k]);
    }
    most = std::max({most, taken, given});
  }
  return most;
}

void check(const Mutants& of, const Mutant& mutant) {
  const MutantTruth& truth = mutant.truth;
  CAPTURE(truth.kind, truth.text, mutant.number);
  PlainCall c = plain(of, mutant);
  PlainResult right = twin::plain_softmax(c);
  plain_sum(c, right);
  CHECK(most_apart(mutant.exact_out, right.out) < 2e-5);
  CHECK(most_apart(mutant.exact_lse, right.lse) < 2e-5);
  CHECK(most_apart(mutant.right_out, right.out) < 2e-5);
  CHECK(most_apart(mutant.right_lse, right.lse) < 2e-5);
  change_cells(truth, c);
  change_call(truth, c);
  PlainResult wrong = twin::plain_softmax(c);
  change_result(truth, c, wrong);
  plain_sum(c, wrong);
  CHECK(most_apart(mutant.out, wrong.out) < 3e-5);
  CHECK(most_apart(mutant.lse, wrong.lse) < 3e-5);
  CHECK(std::fabs(truth.weight - moved_weight(c, right.weights, wrong.weights)) < 1e-5);
  CHECK(truth.lse_only == (truth.kind == "lse-base-2"));
}

TEST_CASE("mutants are wrong in the way that their truth says", "[mutants]") {
  std::set<std::string_view> seen;
  for (const MutantCall& call : small_calls()) {
    const Mutants mutants(call, 7);
    for (Index number = 0; number < 3 * static_cast<Index>(mutants.kinds().size()); ++number) {
      const Mutant mutant = mutants.make(number);
      if (mutant.truth.group == MutantGroup::kCoarse) continue;
      check(mutants, mutant);
      seen.insert(mutant.truth.kind);
    }
  }
  // 128 queries are more than the others need.
  MutantCall stale = call_of(192, 16, {step::Window{.left = 40, .align = Align::kTopLeft}});
  const std::vector<std::string> kind = {"rows-stale"};
  const Mutants long_ones(stale, 1, {.only = kind});
  for (Index number = 0; number < 3; ++number) check(long_ones, long_ones.make(number));
  seen.insert("rows-stale");
  for (const MutantKindInfo& info : mutant_kinds()) {
    CAPTURE(info.name);
    const bool has_none =  // kinds that a float32 call lacks, and caches
        info.group == MutantGroup::kCoarse || info.name == "right-rounded";
    CHECK(seen.contains(info.name) != has_none);
  }
}

/// Checks that the cells of the truth are those in which two formulas differ.
template <typename Right, typename Wrong>
void check_formula(const Mutants& of, const Mutant& mutant, const Right& right,
                   const Wrong& wrong) {
  CAPTURE(mutant.truth.text);
  PlainCall c = plain(of, mutant);
  change_cells(mutant.truth, c);
  for (Index q = 0; q < c.queries; ++q) {
    for (Index k = 0; k < c.keys; ++k) {
      REQUIRE(is_open(*of.mask().plane(0, 0), q, k) == right(q, k));
      REQUIRE((c.open[c.cell(0, 0, q, k)] != 0) == wrong(q, k));
    }
  }
}

TEST_CASE("mutants change arguments of steps by the numbers that their truth says", "[mutants]") {
  const auto made = [](const MutantCall& call, std::string kind, const auto& check_one) {
    const std::vector<std::string> kinds = {std::move(kind)};
    const Mutants mutants(call, 3, {.only = kinds});
    for (Index number = 0; number < 6; ++number) check_one(mutants, mutants.make(number));
  };
  const auto window = call_of(24, 24, {step::Window{.left = 4, .right = 3}});
  for (const char* const kind : {"window-wider", "window-narrower"}) {
    made(window, kind, [](const Mutants& of, const Mutant& mutant) {
      const bool left = mutant.truth.text.starts_with("window left");
      const Index now = numbers_in(mutant.truth.text)[0];
      const auto band = [](Index l, Index r) {
        return [=](Index q, Index k) { return q - k <= l && k - q <= r; };
      };
      check_formula(of, mutant, band(4, 3), band(left ? now : 4, left ? 3 : now));
    });
  }
  const auto document = [](Index token, const std::vector<Index>& starts) {
    return std::ranges::count_if(starts, [token](Index start) { return start <= token; });
  };
  made(call_of(24, 24, {step::DocumentLengths{{9, 3, 12}}}), "border-moved",
       [&](const Mutants& of, const Mutant& mutant) {
         const std::vector<Index> said = numbers_in(mutant.truth.text);
         std::vector<Index> starts = {0, 9, 12};
         *std::ranges::find(starts, said[1]) = said[0];
         const auto same = [&](const std::vector<Index>& at) {
           return [&](Index q, Index k) { return document(q, at) == document(k, at); };
         };
         check_formula(of, mutant, same({0, 9, 12}), same(starts));
       });
  made(call_of(20, 20, {step::Causal{}, step::Prefix{6}}), "prefix-shorter",
       [](const Mutants& of, const Mutant& mutant) {
         const auto prefix = [](Index n) {
           return [n](Index q, Index k) { return k <= q || k < n; };
         };
         check_formula(of, mutant, prefix(6), prefix(5));
       });
  made(call_of(20, 20, {step::Chunk{7}}), "chunk-moved",
       [](const Mutants& of, const Mutant& mutant) {
         const Index origin = numbers_in(mutant.truth.text)[0];
         const auto chunk = [](Index from) {
           return [from](Index q, Index k) {
             return floor_div(q - from, 7) == floor_div(k - from, 7);
           };
         };
         check_formula(of, mutant, chunk(0), chunk(origin));
       });
}

TEST_CASE("right kernels differ from the reference only by rounding", "[mutants]") {
  const DType dtype = GENERATE(DType::kBFloat16, DType::kFloat16, DType::kFloat32);
  MutantCall call = call_of(200, 200, {step::Causal{}});
  call.dim = 16;
  call.dtype = dtype;
  std::vector<std::string> kinds = {"right-exact", "right-tiles", "cache-int8", "cache-fp8"};
  if (dtype != DType::kFloat32) kinds.emplace_back("right-rounded");
  const Mutants mutants(call, 5, {.only = kinds});
  const double unit = epsilon(dtype);
  for (Index number = 0; number < 2 * static_cast<Index>(kinds.size()); ++number) {
    const Mutant mutant = mutants.make(number);
    CAPTURE(mutant.truth.kind, name(dtype));
    const double apart = most_apart(mutant.out, doubles(mutant.exact_out));
    const bool coarse = mutant.truth.group == MutantGroup::kCoarse;
    CHECK(apart < (coarse ? 0.2 : 4 * unit + 1e-6));
    CHECK(apart > 0);
    CHECK(mutant.truth.weight < (coarse ? 0.1 : 1e-6));
    CHECK(same_elements(astype(astype(mutant.out, dtype), DType::kFloat32), mutant.out));
    CHECK(same_elements(astype(astype(mutant.query, dtype), DType::kFloat32), mutant.query));
  }
}

TEST_CASE("equal seeds make equal mutants, and one mutant in five is right", "[mutants]") {
  const MutantCall call = call_of(24, 24, {step::Causal{}});
  const Mutants first(call, 11), second(call, 11), other(call, 12);
  for (Index number = 0; number < 10; ++number) {
    const Mutant a = first.make(number), b = second.make(number), c = other.make(number);
    CHECK(a.truth.text == b.truth.text);
    CHECK(same_elements(a.out, b.out));
    CHECK(same_elements(a.query, b.query));
    CHECK_FALSE(same_elements(a.query, c.query));
    CHECK(is_right(a.truth.group) == (number % 5 == 4));
  }
}

TEST_CASE("kinds of mutants that a call cannot have are left out, with what they would need",
          "[mutants]") {
  const Mutants mutants(call_of(24, 24, {step::Causal{}}), 0);
  const auto reason = [&mutants](std::string_view kind) {
    const auto& all = mutants.left_out();
    const auto found = std::ranges::find(all, kind, &KindLeftOut::kind);
    return found == all.end() ? "made" : found->reason;
  };
  CHECK(reason("window-wider") == "needs a window");
  CHECK(reason("cap-dropped") == "needs a soft cap");
  CHECK(reason("cell-opened") == "made");
  CHECK(mutants.kinds().size() + mutants.left_out().size() == mutant_kinds().size());
  const std::vector<std::string> window = {"window-wider"}, unknown = {"wndow"};
  CHECK_THROWS_WITH(Mutants(call_of(8, 8, {step::Causal{}}), 0, {.only = window}),
                    Catch::Contains("needs a window"));
  CHECK_THROWS_WITH(Mutants(call_of(8, 8, {}), 0, {.only = unknown}),
                    Catch::Contains("window-wider"));
  CHECK_THROWS_WITH(Mutants(call_of(8, 8, {}), 0, {.without = unknown}),
                    Catch::Contains("window-wider"));
  const Mutants fewer(call_of(24, 24, {step::Causal{}}), 0,
                      {.without = {"cache-int8", "cache-fp8", "cell-opened"}});
  CHECK(fewer.kinds().size() == mutants.kinds().size() - 3);
  MutantCall odd = call_of(8, 8, {});
  odd.kv_heads = 3;
  CHECK_THROWS_WITH(Mutants(odd, 0), Catch::Contains("do not divide"));
  MutantCall huge = call_of(Index{1} << 30, Index{1} << 30, {});
  CHECK_THROWS_AS(Mutants(huge, 0), Error);
}

}  // namespace
}  // namespace mutant_cases
