// Outputs that are made to fool verify: none that is wrong may be called right.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "maskctl/inspect/why/why.h"
#include "maskctl/verify/solve/explain.h"
#include "support/catch_compat.h"
#include "support/mistaken_call.h"

namespace red_team_cases {
namespace {

using namespace maskctl;
using attention::Verdict;
using twin::MistakenCall;
using twin::MistakenResult;

constexpr Index kT = 24;  // tokens

/// A call of 2 heads, kT tokens and 16 channels.
MistakenCall plain_call(std::uint64_t seed, Index batch,
                        const std::function<bool(Index, Index)>& open) {
  MistakenCall c;
  c.batch = batch, c.queries = c.keys = kT, c.heads = c.kv_heads = 2, c.dim = 16;
  c.scale = 0.25;
  const auto normal = [&](Index tokens, std::uint64_t stream) {
    const Tensor drawn = attention::random_normal({batch * tokens * 2 * 16}, seed * 8 + stream);
    return std::vector<double>(drawn.as<float>().begin(), drawn.as<float>().end());
  };
  c.q = normal(c.queries, 0), c.k = normal(c.keys, 1), c.v = normal(c.keys, 2);
  c.open.resize(static_cast<std::size_t>(batch * 2 * kT * kT));
  for (std::size_t n = 0; n < c.open.size(); ++n) {
    const Index cell = static_cast<Index>(n) % (kT * kT);
    c.open[n] = open(cell / kT, cell % kT);
  }
  return c;
}

bool causal(Index i, Index j) { return j <= i; }
bool window(Index i, Index j) { return j <= i && i - j < 7; }
bool documents(Index i, Index j) { return j <= i && (i < 11) == (j < 11); }
bool full(Index, Index) { return true; }

struct Door {
  const char* name;
  bool (*open)(Index, Index);
};
constexpr Door kMasks[] = {
    {"causal", causal}, {"window", window}, {"documents", documents}, {"full", full}};

attention::NamedResults results(const MistakenCall& c, const std::vector<double>& out,
                                DType dtype) {
  Tensor wide(DType::kFloat64, {c.batch, kT, 2, 16});
  std::ranges::copy(out, wide.as<double>().begin());
  return {{"out", astype(wide, dtype)}};
}

attention::JudgedCall judged(const MistakenCall& c) {
  attention::JudgedCall call;
  call.request.operation = attention::find_operation("flash_attention");
  auto& arrays = call.request.arguments.arrays;
  arrays["query"] = results(c, c.q, DType::kFloat32).at("out");
  arrays["key"] = results(c, c.k, DType::kFloat32).at("out");
  arrays["value"] = results(c, c.v, DType::kFloat32).at("out");
  Tensor dense(DType::kBool, {c.batch, 2, kT, kT});
  std::ranges::copy(c.open, dense.as<std::uint8_t>().begin());
  call.request.declared = mask_from_dense(dense);
  call.request.arguments.mask = call.request.declared;
  return call;
}

attention::FullVerdict asked(const MistakenCall& c, const std::vector<double>& out, DType dtype) {
  return judge_fully(judged(c), results(c, out, dtype));
}

/// Makes an output wrong; `right` is the output of the call.
struct Trick {
  const char* name;
  std::function<void(const MistakenCall& call, std::vector<double>& right)> apply;
};

double& at(std::vector<double>& out, Index i, Index h, Index d) {
  return out[static_cast<std::size_t>((i * 2 + h) * 16 + d)];
}

std::vector<Trick> tricks() {
  const auto rows_from = [](const std::function<Index(Index)>& source) {
    return [source](const MistakenCall&, std::vector<double>& out) {
      const std::vector<double> before = out;
      for (Index i = 0; i < kT; ++i) {
        std::copy_n(before.begin() + source(i) * 32, 32, out.begin() + i * 32);
      }
    };
  };
  return {
      {"the mean of all values",
       [](const MistakenCall& c, std::vector<double>& out) {
         for (Index h = 0; h < 2; ++h) {
           for (Index d = 0; d < 16; ++d) {
             double sum = 0;
             for (Index j = 0; j < kT; ++j) {
               sum += c.v[static_cast<std::size_t>((j * 2 + h) * 16 + d)];
             }
             for (Index i = 0; i < kT; ++i) at(out, i, h, d) = sum / kT;
           }
         }
       }},
      {"rows shuffled", rows_from([](Index i) { return i * 7 % kT; })},
      {"each row that of the one before",
       rows_from([](Index i) { return std::max<Index>(i - 1, 0); })},
      {"the last rows those of an earlier call",
       rows_from([](Index i) { return i < 20 ? i : i - 12; })},
      {"one row of another head",
       [](const MistakenCall&, std::vector<double>& out) {
         for (Index d = 0; d < 16; ++d) at(out, 13, 0, d) = at(out, 13, 1, d);
       }},
      {"the values instead of sums of them",
       [](const MistakenCall& c, std::vector<double>& out) {
         std::copy_n(c.v.begin(), out.size(), out.begin());
       }},
      {"the queries",
       [](const MistakenCall& c, std::vector<double>& out) {
         std::copy_n(c.q.begin(), out.size(), out.begin());
       }},
      {"zeros", [](const MistakenCall&, std::vector<double>& out) { std::ranges::fill(out, 0.0); }},
      {"ones", [](const MistakenCall&, std::vector<double>& out) { std::ranges::fill(out, 1.0); }},
      {"one element of another sign",
       [](const MistakenCall&, std::vector<double>& out) {
         at(out, 20, 1, 5) = -at(out, 20, 1, 5) - 0.1;
       }},
      {"one channel of zeros",
       [](const MistakenCall&, std::vector<double>& out) {
         for (Index i = 0; i < kT; ++i) at(out, i, 0, 3) = 0;
       }},
      {"two channels exchanged",
       [](const MistakenCall&, std::vector<double>& out) {
         for (Index i = 0; i < kT; ++i) std::swap(at(out, i, 0, 3), at(out, i, 0, 4));
       }},
      {"an infinity",
       [](const MistakenCall&, std::vector<double>& out) {
         at(out, 12, 0, 0) = std::numeric_limits<double>::infinity();
       }},
      {"a NaN",
       [](const MistakenCall&, std::vector<double>& out) {
         at(out, 12, 0, 0) = std::numeric_limits<double>::quiet_NaN();
       }},
      {"rounded to one digit",
       [](const MistakenCall&, std::vector<double>& out) {
         for (double& x : out) x = std::nearbyint(x * 4) / 4;
       }},
      {"clamped",
       [](const MistakenCall&, std::vector<double>& out) {
         for (double& x : out) x = std::clamp(x, -0.3, 0.3);
       }},
      {"half of the right output and half of the mean of its rows",
       [](const MistakenCall&, std::vector<double>& out) {
         for (Index i = 1; i < kT; ++i) {
           for (Index n = 0; n < 32; ++n) {
             out[static_cast<std::size_t>(i * 32 + n)] +=
                 0.3 * out[static_cast<std::size_t>((i - 1) * 32 + n)];
           }
         }
       }},
      {"absolute values",
       [](const MistakenCall&, std::vector<double>& out) {
         for (double& x : out) x = std::abs(x);
       }},
  };
}

bool accepts(Verdict verdict) { return verdict == Verdict::kObeys; }

TEST_CASE("red team: no output of a wrong kernel is called right", "[values]") {
  Index tried = 0;
  for (const Door& mask : kMasks) {
    const DType dtype = tried % 36 == 0 ? DType::kFloat32 : DType::kBFloat16;
    const MistakenCall call = plain_call(3, 1, mask.open);
    const std::vector<double> right = attend(call).out;
    CHECK(accepts(asked(call, right, dtype).report.judgement.verdict));
    for (const Trick& trick : tricks()) {
      std::vector<double> out = right;
      trick.apply(call, out);
      const auto judgement = asked(call, out, dtype).report.judgement;
      INFO(mask.name << ", " << name(dtype) << ": " << trick.name << ": " << to_text(judgement));
      CHECK_FALSE(accepts(judgement.verdict));
      ++tried;
    }
  }
  CHECK(tried >= 60);
}

/// The output under a mask in which these cells are inverted.
std::vector<double> with_cells(MistakenCall call,
                               const std::vector<std::pair<Index, Index>>& cells) {
  for (const auto& [i, j] : cells) {
    std::uint8_t& cell = call.open[call.cell(0, 0, i, j)];
    cell = cell == 0;
  }
  return attend(call).out;
}

/// The share of weight that a row of head 0 gives to keys that the declared mask closes, or takes
/// from keys that it opens.
double moved_weight(const MistakenCall& call, Index i, Index j) {
  double sum = 0, own = 0;
  for (Index n = 0; n < kT; ++n) {
    double s = 0;
    for (Index d = 0; d < 16; ++d) {
      s += call.q[static_cast<std::size_t>((i * 2) * 16 + d)] *
           call.k[static_cast<std::size_t>((n * 2) * 16 + d)];
    }
    const double e = std::exp(s * call.scale);
    if (call.open[call.cell(0, 0, i, n)] != 0 || n == j) sum += e;
    if (n == j) own = e;
  }
  return own / sum;
}

TEST_CASE("red team: a cell above the bound that the verdict states is always found", "[values]") {
  for (const Door& mask : kMasks) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        const MistakenCall call = plain_call(seed, 1, mask.open);
        const double bound = asked(call, attend(call).out, dtype).report.judgement.least_cell;
        REQUIRE(bound > 0);
        const Index i = 5 + static_cast<Index>(seed) * 3, j = static_cast<Index>(seed * 11) % kT;
        const auto judgement = asked(call, with_cells(call, {{i, j}}), dtype).report.judgement;
        const double weight = moved_weight(call, i, j);
        INFO(mask.name << ", " << name(dtype) << ", cell " << i << ", " << j << " of weight "
                       << weight << ", bound " << bound << ": " << to_text(judgement));
        if (weight > bound) CHECK_FALSE(accepts(judgement.verdict));
      }
    }
  }
}

TEST_CASE("red team: the next question that verify suggests is answered by solving", "[solve]") {
  using attention::NextQuestion;
  if (!attention::has_solver()) return;  // then none is named
  Index lighter = 0, cells = 0, none = 0;
  const auto hold = [&](const MistakenCall& call, const std::vector<double>& out, DType dtype) {
    const auto found = asked(call, out, dtype);
    INFO(name(dtype) << ": " << to_text(found.report.judgement) << ", next " << name(found.next));
    if (found.next == NextQuestion::kNone || found.next == NextQuestion::kProbe) {
      CHECK(
          (found.next == NextQuestion::kNone || found.report.judgement.verdict == Verdict::kNone));
      ++none;
      return;
    }
    const auto answer = attention::solve_fully(judged(call), results(call, out, dtype));
    REQUIRE(answer.only_solved);
    if (found.next == NextQuestion::kCells) {
      ++cells;
      return;
    }
    ++lighter;
    CHECK(answer.solved->verdict() == Verdict::kObeys);
    for (Index i = 0; i < kT; ++i) {
      for (Index j = 0; j < kT; ++j) {
        if (!maskctl::is_open(answer.solved->solved.light, {0, 0, i, j})) continue;
        CHECK(moved_weight(call, i, j) < found.report.judgement.least_cell);
      }
    }
  };
  for (const Door& mask : kMasks) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      const MistakenCall call = plain_call(11, 1, mask.open);
      const std::vector<double> right = attend(call).out;
      hold(call, right, dtype);
      MistakenCall scaled = call;
      scaled.scale = 0.5;
      hold(call, attend(scaled).out, dtype);
      for (const double blank : {0.0, std::numeric_limits<double>::quiet_NaN()}) {
        std::vector<double> out = right;
        std::fill_n(out.begin() + 160, 64, blank);
        hold(call, out, dtype);
      }
      MistakenCall same = call;
      for (Index j = 1; j < kT; ++j) std::copy_n(same.v.begin(), 32, same.v.begin() + j * 32);
      hold(same, attend(same).out, dtype);
    }
    for (const Trick& trick : tricks()) {
      const MistakenCall call = plain_call(12, 1, mask.open);
      std::vector<double> out = attend(call).out;
      trick.apply(call, out);
      INFO(mask.name << ": " << trick.name);
      hold(call, out, DType::kFloat32);
    }
  }
  CHECK(lighter >= 6);
  CHECK(cells >= 6);
  CHECK(none >= 30);
}

TEST_CASE("red team: repeated, cancelling or tiny values, and similar keys, do not fool verify",
          "[values]") {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    INFO(name(dtype));
    // The leaked pair has opposite values and equal keys: it only adds to the denominator.
    MistakenCall pair = plain_call(5, 1, causal);
    for (Index d = 0; d < 16; ++d) {
      at(pair.v, 19, 0, d) = -at(pair.v, 18, 0, d);
      at(pair.k, 19, 0, d) = at(pair.k, 18, 0, d);
    }
    const auto cancelled = asked(pair, with_cells(pair, {{12, 18}, {12, 19}}), dtype);
    CHECK_FALSE(accepts(cancelled.report.judgement.verdict));

    // Keys that are all alike give all open cells one weight.
    MistakenCall alike = plain_call(6, 1, window);
    for (Index j = 1; j < kT; ++j) std::copy_n(alike.k.begin(), 32, alike.k.begin() + j * 32);
    CHECK(accepts(asked(alike, attend(alike).out, dtype).report.judgement.verdict));
    CHECK_FALSE(
        accepts(asked(alike, with_cells(alike, {{12, 18}}), dtype).report.judgement.verdict));

    // Equal values tell no key from another.
    MistakenCall same = plain_call(7, 1, causal);
    for (Index j = 1; j < kT; ++j) std::copy_n(same.v.begin(), 32, same.v.begin() + j * 32);
    CHECK(asked(same, attend(same).out, dtype).report.judgement.verdict == Verdict::kUnclear);

    // Values far below 1 are judged like others.
    MistakenCall tiny = plain_call(8, 1, causal);
    for (double& x : tiny.v) x *= 0x1p-80;
    CHECK(accepts(asked(tiny, attend(tiny).out, dtype).report.judgement.verdict));
    CHECK_FALSE(accepts(asked(tiny, with_cells(tiny, {{12, 18}}), dtype).report.judgement.verdict));
    std::vector<double> zeros(tiny.v.size(), 0.0);
    CHECK_FALSE(accepts(asked(tiny, zeros, dtype).report.judgement.verdict));

    // Every second value repeats, and so does its key: which of the two is open cannot show.
    MistakenCall twice = plain_call(9, 1, causal);
    for (Index j = 1; j < kT; j += 2) {
      std::copy_n(twice.v.begin() + (j - 1) * 32, 32, twice.v.begin() + j * 32);
      std::copy_n(twice.k.begin() + (j - 1) * 32, 32, twice.k.begin() + j * 32);
    }
    CHECK_FALSE(
        accepts(asked(twice, with_cells(twice, {{12, 18}}), dtype).report.judgement.verdict));
  }
}

}  // namespace
}  // namespace red_team_cases
