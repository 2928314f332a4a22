// Makes a random attention call whose output was computed under the declared mask or under a
// similar one, and tells which verdicts of `verify` on that output would be false.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "maskctl/inspect/recognise/neighbours.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/not.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/verify/judge.h"

namespace maskctl::twin {

/// A mask described by numbers, so that similar masks are made without the code under test.
struct MaskPlan {
  Index queries = 0, keys = 0, heads = 1;
  bool causal = false;
  std::optional<Index> left, right;  // extents of a window
  Align align = Align::kTopLeft;
  std::vector<Index> documents;  // lengths; empty: no documents
  Index moved = 0;               // how far diagonals are moved to the right
  bool inverted = false;
  // Heads 1, 3, ... have no window; if `reversed`, heads 0, 2, ...
  bool odd_heads_full = false;
  bool reversed = false;

  Mask mask() const {
    const auto plane = [this](bool windowed) {
      Chain chain;
      if (causal) {
        NamedArray offset{Tensor(DType::kInt64, {1}), ""};
        offset.array.as<std::int64_t>()[0] = moved;
        chain.push_back({step::Causal{align, offset}});
      }
      if (windowed && (left || right)) chain.push_back({step::Window{left, right, align, moved}});
      if (!documents.empty()) chain.push_back({step::DocumentLengths{documents}});
      if (inverted) chain.push_back({step::Not{}});
      return maskctl::apply(Mask(full_plane(queries, keys)), chain).plane(0, 0);
    };
    const PlanePtr with = plane(true), without = odd_heads_full ? plane(false) : with;
    return Mask::make(1, heads, queries, keys,
                      [&](Index, Index h) { return (h % 2 == 1) != reversed ? without : with; });
  }
};

struct JudgedProblem {
  attention::VerifyRequest request;
  attention::NamedResults given;
  Mask declared, applied;
  std::string what;  // how the applied mask differs from the declared one, or "nothing"
  DType dtype = DType::kFloat32;
  /// Root mean square of the difference between the outputs under both masks, relative to the
  /// outputs and in units of their rounding.
  double apart = 0;
  bool wrong() const { return apart > 0; }
};

class ProblemMaker {
 public:
  ProblemMaker(std::uint64_t seed, Index longest) : random_(seed), longest_(longest) {}

  JudgedProblem draw() {
    JudgedProblem out;
    const MaskPlan plan = draw_plan();
    out.declared = plan.mask();
    out.what = "nothing";
    out.applied = out.declared;
    if (number(0, 1) == 1) {
      const auto [what, changed] = neighbour(plan);
      out.what = what;
      out.applied = changed.mask();
    }
    make_call(plan, out);
    make_output(out);
    return out;
  }

 private:
  Index number(Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, std::max(low, high))(random_);
  }
  Index tokens() {
    std::uniform_real_distribution<double> exponent(std::log(64.0),
                                                    std::log(static_cast<double>(longest_)));
    return static_cast<Index>(std::exp(exponent(random_)));
  }

  MaskPlan draw_plan() {
    MaskPlan plan;
    plan.keys = tokens();
    const bool square = number(0, 3) > 0;
    plan.queries = square ? plan.keys : number(std::max<Index>(plan.keys / 8, 1), plan.keys);
    plan.align = number(0, 1) == 0 ? Align::kTopLeft : Align::kBottomRight;
    plan.causal = number(0, 3) > 0;
    if (number(0, 2) > 0) {
      plan.left =
          number(0, 1) == 0 ? number(1, plan.keys - 1) : plan.keys - number(2, plan.keys / 8);
      plan.right = plan.causal ? Index{0} : *plan.left;
    }
    if (square && number(0, 1) == 0) {
      for (Index left = plan.keys; left > 0;) {
        const Index length = std::min(left, number(8, std::max<Index>(plan.keys / 2, 16)));
        plan.documents.push_back(length);
        left -= length;
      }
    }
    if (!plan.causal && !plan.left && plan.documents.empty()) plan.causal = true;
    plan.heads = Index{1} << number(0, 3);
    while (plan.heads > 1 && plan.heads * plan.queries * plan.keys > Index{40000000}) {
      plan.heads /= 2;
    }
    plan.odd_heads_full = plan.heads > 1 && plan.left && number(0, 3) == 0;
    return plan;
  }

  /// Returns the plan with one random change, and the words for that change.
  std::pair<std::string, MaskPlan> neighbour(const MaskPlan& plan) {
    std::vector<std::pair<std::string, MaskPlan>> all;
    const auto add = [&](const char* what, const auto& change) {
      MaskPlan copy = plan;
      change(copy);
      all.emplace_back(what, std::move(copy));
    };
    if (plan.left) {
      add("window + 1", [](MaskPlan& p) { ++*p.left; });
      add("window - 1", [](MaskPlan& p) { --*p.left; });
      add("no window", [](MaskPlan& p) { p.left = p.right = {}; });
    }
    if (plan.queries != plan.keys && (plan.causal || plan.left)) {
      add("alignment", [](MaskPlan& p) {
        p.align = p.align == Align::kTopLeft ? Align::kBottomRight : Align::kTopLeft;
      });
    }
    if (plan.causal && !plan.left) add("no causal", [](MaskPlan& p) { p.causal = false; });
    if (plan.causal) {
      add("shifted by one", [&](MaskPlan& p) { p.moved = number(0, 1) == 0 ? 1 : -1; });
    }
    if (plan.documents.size() > 1) {
      add("no documents", [](MaskPlan& p) { p.documents.clear(); });
      add("merged neighbours", [&](MaskPlan& p) {
        const Index last = std::min<Index>(std::ssize(p.documents), 12) - 1;
        const auto n = static_cast<std::size_t>(number(1, last));
        p.documents[n - 1] += p.documents[n];
        p.documents.erase(p.documents.begin() + static_cast<std::ptrdiff_t>(n));
      });
    }
    add("inverted", [](MaskPlan& p) { p.inverted = true; });
    if (plan.odd_heads_full) add("head order", [](MaskPlan& p) { p.reversed = true; });
    return all[static_cast<std::size_t>(number(0, std::ssize(all) - 1))];
  }

  void make_call(const MaskPlan& plan, JudgedProblem& out) {
    static constexpr DType kDtypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};
    out.dtype = kDtypes[number(0, 2)];
    out.request.operation = attention::find_operation("flash_attention");
    out.request.arguments.mask = out.declared;
    out.request.declared = out.declared;
    const Index group = plan.heads > 1 && number(0, 1) == 0 ? 2 : 1;
    const Index dim = Index{16} << number(0, 2);
    attention::add_random_arrays(*out.request.operation,
                                 {.extents = {{"B", 1},
                                              {"Tq", plan.queries},
                                              {"Tk", plan.keys},
                                              {"Hq", plan.heads},
                                              {"Hkv", plan.heads / group},
                                              {"D", dim},
                                              {"Dv", dim}},
                                  .seed = random_(),
                                  .dtype = out.dtype},
                                 out.request.arguments);
  }

  /// Computes the output with the reference backend, rounded to the dtype. In half of the calls all
  /// arrays are converted to f32 afterwards.
  void make_output(JudgedProblem& out) {
    attention::NamedArguments arguments = out.request.arguments;
    arguments.context.backend = attention::Backend::kReference;
    const auto under = [&](const Mask& mask) {
      arguments.mask = mask;
      return attention::run(*out.request.operation, arguments).at("out");
    };
    Tensor made = under(out.applied);
    if (out.what != "nothing") out.apart = apart(made, under(out.declared));
    if (number(0, 1) == 1) {
      made = astype(made, DType::kFloat32);
      for (auto& [name, array] : out.request.arguments.arrays) {
        array = astype(array, DType::kFloat32);
      }
    }
    out.given.emplace("out", std::move(made));
  }

  static double apart(const Tensor& made, const Tensor& declared) {
    const double unit = made.dtype() == DType::kBFloat16  ? 0x1p-8
                        : made.dtype() == DType::kFloat16 ? 0x1p-11
                                                          : 0x1p-24;
    const Tensor x = astype(made, DType::kFloat64), y = astype(declared, DType::kFloat64);
    double sum = 0, size = 0;
    for (Index i = 0; i < x.elements(); ++i) {
      const double a = x.as<double>()[as_size(i)], b = y.as<double>()[as_size(i)];
      sum += (a - b) * (a - b);
      size += b * b;
    }
    return size > 0 ? std::sqrt(sum / size) / unit : std::sqrt(sum) * 1e9;
  }

  std::mt19937_64 random_;
  Index longest_;
};

/// Returns what `verify` concludes about the problem.
inline attention::Judgement judged(const JudgedProblem& problem) {
  std::vector<Neighbour> alternatives;
  for (Neighbour& other : neighbours(problem.declared)) {
    alternatives.push_back({std::move(other.text), std::move(other.mask)});
  }
  return verify_given(problem.request, problem.given, alternatives).judgement;
}

/// True for a false verdict: "obeys" if another mask was applied, "another" or "none" if the
/// declared one was.
inline bool is_false(const JudgedProblem& problem, attention::Verdict verdict) {
  if (problem.wrong()) return verdict == attention::Verdict::kObeys;
  return verdict == attention::Verdict::kAnother || verdict == attention::Verdict::kNone;
}

}  // namespace maskctl::twin
