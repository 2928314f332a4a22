// Random calls of attention, computed by plain loops in float64 with one mistake: in the mask or in
// the call beside it. Shares no code with the kernels and with the candidates of verify.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/text.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/verify/verdict.h"

namespace maskctl::twin {

/// The arguments of a call, [B,T,H,D] as in flash_attention; all that a mistake may change.
struct MistakenCall {
  Index batch = 1, queries = 1, keys = 1, heads = 1, kv_heads = 1, dim = 1;
  std::vector<double> q, k, v;
  std::vector<double> bias;             // [Hq,Tq,Tk], or empty
  std::vector<double> sinks;            // [Hq], or empty
  double scale = 1, cap = 0;            // cap 0: none
  std::map<Index, double> head_scales;  // of heads whose scale is another one
  bool cap_after_mask = false, mask_added = false, heads_in_turn = false, sinks_twice = false;
  std::vector<std::uint8_t> open;  // [B,Hq,Tq,Tk]

  std::size_t cell(Index b, Index h, Index i, Index j) const {
    return static_cast<std::size_t>(((b * heads + h) * queries + i) * keys + j);
  }
};

struct MistakenResult {
  std::vector<double> out, lse;  // [B,Tq,Hq,D], [B,Hq,Tq]
};

inline MistakenResult attend(const MistakenCall& c) {
  MistakenResult result;
  const double none = -std::numeric_limits<double>::infinity();
  result.out.resize(static_cast<std::size_t>(c.batch * c.queries * c.heads * c.dim));
  result.lse.resize(static_cast<std::size_t>(c.batch * c.heads * c.queries));
  std::vector<double> s(static_cast<std::size_t>(c.keys));
  for (Index b = 0; b < c.batch; ++b) {
    for (Index h = 0; h < c.heads; ++h) {
      const Index kv = c.heads_in_turn ? h % c.kv_heads : h / (c.heads / c.kv_heads);
      const double scale = c.head_scales.contains(h) ? c.head_scales.at(h) : c.scale;
      for (Index i = 0; i < c.queries; ++i) {
        const double* const query =
            &c.q[static_cast<std::size_t>(((b * c.queries + i) * c.heads + h) * c.dim)];
        double most = none;
        for (Index j = 0; j < c.keys; ++j) {
          const double* const key =
              &c.k[static_cast<std::size_t>(((b * c.keys + j) * c.kv_heads + kv) * c.dim)];
          double x = 0;
          for (Index d = 0; d < c.dim; ++d) x += query[d] * key[d];
          x *= scale;
          if (!c.bias.empty()) {
            x += c.bias[static_cast<std::size_t>((h * c.queries + i) * c.keys + j)];
          }
          const bool is_open = c.open[c.cell(b, h, i, j)] != 0;
          if (c.cap > 0) x = c.cap * std::tanh(x / c.cap);
          if (c.mask_added) {
            x += is_open ? 1 : 0;
          } else if (!is_open) {
            x = c.cap_after_mask ? -c.cap : none;
          }
          s[static_cast<std::size_t>(j)] = x;
          most = std::max(most, x);
        }
        double sum = 0;
        if (!c.sinks.empty()) {
          const double sink = c.sinks[static_cast<std::size_t>(h)];
          most = std::max(most, sink);
          sum += (c.sinks_twice ? 2 : 1) * std::exp(sink - most);
        }
        double* const out =
            &result.out[static_cast<std::size_t>(((b * c.queries + i) * c.heads + h) * c.dim)];
        for (Index j = 0; j < c.keys; ++j) {
          const double w = s[static_cast<std::size_t>(j)] == none
                               ? 0
                               : std::exp(s[static_cast<std::size_t>(j)] - most);
          const double* const value =
              &c.v[static_cast<std::size_t>(((b * c.keys + j) * c.kv_heads + kv) * c.dim)];
          for (Index d = 0; d < c.dim && w > 0; ++d) out[d] += w * value[d];
          sum += w;
        }
        for (Index d = 0; d < c.dim && sum > 0; ++d) out[d] /= sum;
        result.lse[static_cast<std::size_t>((b * c.heads + h) * c.queries + i)] =
            sum > 0 ? most + std::log(sum) : none;
      }
    }
  }
  return result;
}

/// A mistake: the words by which verify must name it, and the results that it gives. A call has
/// only the mistakes that are possible in it.
struct Mistake {
  std::string words;  // alternatives with | between them
  MistakenResult results;
};

class MistakeMaker {
 public:
  explicit MistakeMaker(std::uint64_t seed) : random_(seed) { draw(); }

  const MistakenCall& call() const { return call_; }
  std::string_view family() const { return family_; }
  DType inputs() const { return inputs_; }
  DType outputs() const { return outputs_; }
  const MistakenResult& right() const { return right_; }

  /// All mistakes that this call can have.
  std::vector<Mistake> mistakes() {
    std::vector<Mistake> all;
    const auto with = [&](std::string words, const std::function<void(MistakenCall&)>& change) {
      MistakenCall other = call_;
      change(other);
      all.push_back({std::move(words), attend(other)});
    };
    const auto scale = [&](double to) {
      with("softmax_scale", [to](MistakenCall& c) { c.scale = to; });
    };
    scale(1);
    scale(1 / static_cast<double>(call_.dim));
    scale(call_.scale * std::log(2.0));
    scale(call_.scale * 1.37);
    const bool has_rows = call_.batch * call_.queries >= 8;  // that one number hardly explains
    if (has_rows && call_.heads > 1) {
      with("softmax_scale", [](MistakenCall& c) { c.head_scales[c.heads - 1] = c.scale * 1.37; });
    }
    if (has_rows && call_.heads > 2) {
      with("softmax_scale", [](MistakenCall& c) {
        c.head_scales = {{0, c.scale * 0.6}, {c.heads - 1, c.scale * 2}};
      });
    }
    if (call_.cap > 0) {
      with("without logits_soft_cap", [](MistakenCall& c) { c.cap = 0; });
      with("applied after the mask", [](MistakenCall& c) { c.cap_after_mask = true; });
    }
    if (!call_.sinks.empty()) {
      with("without softmax_aux", [](MistakenCall& c) { c.sinks.clear(); });
      with("counted twice", [](MistakenCall& c) { c.sinks_twice = true; });
    }
    if (!call_.bias.empty()) {
      with("without bias", [](MistakenCall& c) { c.bias.clear(); });
      with("bias subtracted", [](MistakenCall& c) {
        for (double& x : c.bias) x = -x;
      });
    }
    with("added to the logits as 0 and 1", [](MistakenCall& c) { c.mask_added = true; });
    if (call_.kv_heads > 1 && call_.kv_heads < call_.heads && call_.sinks.empty()) {
      with("h mod Hkv", [](MistakenCall& c) { c.heads_in_turn = true; });
    }
    with("no mask|without", [](MistakenCall& c) { std::ranges::fill(c.open, 1); });
    with("rounded to int8|a noise of", [](MistakenCall& c) {
      for (auto* array : {&c.k, &c.v}) {
        for (auto from = array->begin(); from != array->end(); from += c.dim) {
          double most = 0;
          std::for_each_n(from, c.dim, [&most](double x) { most = std::max(most, std::abs(x)); });
          std::for_each_n(from, c.dim, [most](double& x) {
            if (most > 0) x = std::nearbyint(x / most * 127) * most / 127;
          });
        }
      }
    });
    of_slots(all);
    of_rows(all);
    if (call_.keys >= 8 && call_.sinks.empty()) of_merges(all);
    if (has_lse_) of_lse(all);
    return all;
  }

  /// The declared call as verify gets it.
  attention::JudgedCall judged() const {
    attention::JudgedCall out;
    attention::VerifyRequest& request = out.request;
    request.operation = attention::find_operation("flash_attention");
    auto& arrays = request.arguments.arrays;
    const MistakenCall& c = call_;
    arrays["query"] = tensor(c.q, {c.batch, c.queries, c.heads, c.dim}, inputs_);
    arrays["key"] = tensor(c.k, {c.batch, c.keys, c.kv_heads, c.dim}, inputs_);
    arrays["value"] = tensor(c.v, {c.batch, c.keys, c.kv_heads, c.dim}, inputs_);
    if (!c.bias.empty()) {
      arrays["bias"] = tensor(c.bias, {1, c.heads, c.queries, c.keys}, DType::kFloat32);
    }
    if (!c.sinks.empty()) arrays["softmax_aux"] = tensor(c.sinks, {c.heads, 1}, DType::kFloat32);
    if (c.cap > 0) request.arguments.options["logits_soft_cap"] = std::to_string(c.cap);
    request.arguments.options["softmax_scale"] = fmt::format("{:.17g}", c.scale);
    Tensor dense(DType::kBool, {c.batch, c.heads, c.queries, c.keys});
    std::ranges::copy(c.open, dense.as<std::uint8_t>().begin());
    request.declared = mask_from_dense(dense);
    request.arguments.mask = request.declared;
    return out;
  }

  attention::NamedResults given(const MistakenResult& results) const {
    const MistakenCall& c = call_;
    attention::NamedResults out;
    out["out"] = tensor(results.out, {c.batch, c.queries, c.heads, c.dim}, outputs_);
    if (has_lse_) {
      out["lse"] = tensor(results.lse, {c.batch, c.heads, c.queries}, DType::kFloat32);
    }
    return out;
  }

  /// The largest difference of two results, in units of the rounding of most elements; infinite if
  /// an element is finite in only one of them.
  double apart(const MistakenResult& a, const MistakenResult& b) const {
    const double unit = outputs_ == DType::kBFloat16  ? 0x1p-9
                        : outputs_ == DType::kFloat16 ? 0x1p-12
                        : inputs_ == DType::kFloat32  ? 0x1p-22
                                                      : 0x1p-20;
    const auto of = [](const std::vector<double>& x, const std::vector<double>& y, double one) {
      double sum = 0, size = 0;
      for (std::size_t n = 0; n < x.size(); ++n) {
        if (std::isfinite(x[n]) != std::isfinite(y[n])) return 1e9;
        if (!std::isfinite(x[n])) continue;
        sum += (x[n] - y[n]) * (x[n] - y[n]);
        size += y[n] * y[n];
      }
      return size > 0 ? std::sqrt(sum / size) / one : sum > 0 ? 1e9 : 0;
    };
    const double of_out = of(a.out, b.out, unit);
    return has_lse_ ? std::max(of_out, of(a.lse, b.lse, 0x1p-18)) : of_out;
  }

 private:
  Index number(Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, std::max(low, high))(random_);
  }
  bool chance(int in) { return number(1, in) == 1; }
  std::vector<double> normal(Index count, double deviation, DType dtype) {
    std::normal_distribution<double> draw(0, deviation);
    std::vector<double> out(static_cast<std::size_t>(count));
    for (double& x : out) x = draw(random_);
    const Tensor rounded = astype(tensor(out, {count}, dtype), DType::kFloat64);
    return {rounded.as<double>().begin(), rounded.as<double>().end()};
  }
  static Tensor tensor(const std::vector<double>& values, std::vector<Index> shape, DType dtype) {
    Tensor out(DType::kFloat64, std::move(shape));
    std::ranges::copy(values, out.as<double>().begin());
    return astype(out, dtype);
  }

  void draw() {
    static constexpr DType kDtypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};
    inputs_ = kDtypes[number(0, 2)];
    outputs_ = inputs_ == DType::kFloat32 ? kDtypes[number(0, 2)] : inputs_;
    MistakenCall& c = call_;
    c.batch = number(1, 3);
    c.kv_heads = Index{1} << number(0, 1);
    c.heads = c.kv_heads << number(0, 1);
    c.keys = number(6, 80);
    c.queries = chance(3) ? number(2, c.keys) : c.keys;
    c.dim = Index{16} << number(0, 2);
    c.scale = chance(4) ? 0.21 : 1 / std::sqrt(static_cast<double>(c.dim));
    c.q = normal(c.batch * c.queries * c.heads * c.dim, 1, inputs_);
    c.k = normal(c.batch * c.keys * c.kv_heads * c.dim, 1, inputs_);
    c.v = normal(c.batch * c.keys * c.kv_heads * c.dim, 1, inputs_);
    if (chance(3)) c.bias = normal(c.heads * c.queries * c.keys, 1, DType::kFloat32);
    if (chance(3)) c.sinks = normal(c.heads, 1, DType::kFloat32);
    if (chance(3)) c.cap = static_cast<double>(number(2, 6)) / 2;
    draw_mask();
    has_lse_ = chance(3);
    right_ = attend(c);
  }

  void draw_mask() {
    MistakenCall& c = call_;
    static constexpr std::string_view kFamilies[] = {"causal", "window", "documents", "padding"};
    const Index kind = number(0, 3), shift = c.keys - c.queries;
    family_ = kFamilies[kind];
    const Index width = number(2, c.keys), border = number(1, c.keys - 1);
    std::vector<Index> pads(static_cast<std::size_t>(c.batch));
    for (Index& pad : pads) pad = number(0, c.keys - 2);
    const bool left = chance(2);
    c.open.assign(static_cast<std::size_t>(c.batch * c.heads * c.queries * c.keys), 0);
    for (Index b = 0; b < c.batch; ++b) {
      for (Index h = 0; h < c.heads; ++h) {
        for (Index i = 0; i < c.queries; ++i) {
          for (Index j = 0; j < c.keys; ++j) {
            const Index at = i + shift, pad = pads[static_cast<std::size_t>(b)];
            bool open = j <= at;
            if (kind == 1) open = open && at - j < width;
            if (kind == 2) open = open && (at < border) == (j < border);
            if (kind == 3) open = open && (left ? j >= pad : j < c.keys - pad);
            c.open[c.cell(b, h, i, j)] = open;
          }
        }
      }
    }
  }

  MistakenResult moved(const std::function<Index(Index b, Index i, Index h)>& source) const {
    MistakenResult out = right_;
    const MistakenCall& c = call_;
    for (Index b = 0; b < c.batch; ++b) {
      for (Index i = 0; i < c.queries; ++i) {
        for (Index h = 0; h < c.heads; ++h) {
          const Index to = (b * c.queries + i) * c.heads + h;
          std::copy_n(right_.out.begin() + source(b, i, h) * c.dim, c.dim,
                      out.out.begin() + to * c.dim);
        }
      }
    }
    return out;
  }

  void of_rows(std::vector<Mistake>& all) {
    const MistakenCall& c = call_;
    all.push_back({"rows in reverse", moved([&c](Index b, Index i, Index h) {
                     return (b * c.queries + c.queries - 1 - i) * c.heads + h;
                   })});
    if (c.heads > 1) {
      all.push_back({"heads", moved([&c](Index b, Index i, Index h) {
                       return (b * c.queries + i) * c.heads + c.heads - 1 - h;
                     })});
      all.push_back({"time and heads exchanged", moved([&c](Index b, Index i, Index h) {
                       const Index n = i * c.heads + h;
                       return (b * c.queries + n % c.queries) * c.heads + n / c.queries;
                     })});
    }
    if (c.queries % 4 == 0) {
      all.push_back({"zigzag over 2 ranks", moved([&c](Index b, Index i, Index h) {
                       static constexpr Index kChunks[] = {0, 3, 1, 2};
                       const Index chunk = c.queries / 4;
                       const Index from = kChunks[i / chunk] * chunk + i % chunk;
                       return (b * c.queries + from) * c.heads + h;
                     })});
    }
    for (const double factor : {0.75, 0.5}) {
      MistakenResult scaled = right_;
      for (double& x : scaled.out) x *= factor;
      all.push_back({fmt::format("times {}", factor), std::move(scaled)});
    }
    MistakenResult zeros = right_;
    const Index lost = number(0, c.batch - 1);
    std::fill_n(zeros.out.begin() + lost * c.queries * c.heads * c.dim, c.queries * c.heads * c.dim,
                0.0);
    all.push_back({"rows of zeros", std::move(zeros)});
    MistakenResult nothing = right_;
    std::ranges::fill(nothing.out, 0.0);
    all.push_back({"rows of zeros", std::move(nothing)});
  }

  /// Adds the mistake of counting three empty cache slots, with logit 0 and value 0, in every
  /// denominator.
  void of_slots(std::vector<Mistake>& all) {
    MistakenResult slots = right_;
    const MistakenCall& c = call_;
    for (Index b = 0; b < c.batch; ++b) {
      for (Index h = 0; h < c.heads; ++h) {
        for (Index i = 0; i < c.queries; ++i) {
          double& lse = slots.lse[static_cast<std::size_t>((b * c.heads + h) * c.queries + i)];
          const double share = 1 / (1 + 3 * std::exp(-lse));
          const Index row = (b * c.queries + i) * c.heads + h;
          std::for_each_n(slots.out.begin() + row * c.dim, c.dim, [&](double& x) { x *= share; });
          lse = std::log(std::exp(lse) + 3);
        }
      }
    }
    all.push_back({"of logit 0 and value 0", std::move(slots)});
  }

  /// Mistakes of the lse alone.
  void of_lse(std::vector<Mistake>& all) {
    const auto with = [&](const char* words, const std::function<double(double)>& change) {
      MistakenResult other = right_;
      for (double& x : other.lse) x = std::isfinite(x) ? change(x) : x;
      all.push_back({words, std::move(other)});
    };
    with("lse to base 2", [](double x) { return x / std::log(2.0); });
    with("lse times ln 2", [](double x) { return x * std::log(2.0); });
    with("lse larger by 1.5", [](double x) { return x + 1.5; });
    with("lse times 0.4", [](double x) { return x * 0.4; });
    MistakenResult empty = right_;
    for (double& x : empty.lse) x = x == -HUGE_VAL ? 0 : x;
    if (empty.lse != right_.lse) all.push_back({"an lse of 0 instead of minus infinity", empty});
    MistakenResult sums = right_, maxima = right_;
    MistakenCall sharp = call_;
    constexpr double kTimes = 1e7;
    sharp.scale *= kTimes, sharp.cap *= kTimes;
    for (auto* array : {&sharp.bias, &sharp.sinks}) {
      for (double& x : *array) x *= kTimes;
    }
    const MistakenResult most = attend(sharp);
    for (std::size_t n = 0; n < right_.lse.size(); ++n) {
      const double largest = most.lse[n] / kTimes;
      if (!std::isfinite(largest)) continue;
      maxima.lse[n] = largest;
      sums.lse[n] -= largest;
    }
    all.push_back({"without the maximum", std::move(sums)});
    all.push_back({"largest logit", std::move(maxima)});
  }

  void of_merges(std::vector<Mistake>& all) {
    MistakenCall first = call_, second = call_;
    for (std::size_t n = 0; n < call_.open.size(); ++n) {
      const bool in_first = static_cast<Index>(n) % call_.keys < call_.keys / 2;
      (in_first ? second : first).open[n] = 0;
    }
    const MistakenResult a = attend(first), b = attend(second);
    MistakenResult half = right_;
    for (std::size_t n = 0; n < half.out.size(); ++n) half.out[n] = (a.out[n] + b.out[n]) / 2;
    all.push_back({"merged by equal weights", std::move(half)});
    all.push_back({"not read", a});
  }

  std::mt19937_64 random_;
  MistakenCall call_;
  std::string_view family_;
  DType inputs_ = DType::kFloat32, outputs_ = DType::kFloat32;
  bool has_lse_ = false;
  MistakenResult right_;
};

/// What verify said of one mistake.
enum class Answer : std::uint8_t {
  kNamed,      // the mistake, or another one with the same results
  kNotNamed,   // wrong, without a cause or with rows only
  kMisnamed,   // a mistake that gives other results
  kAccepted,   // right
  kUndecided,  // that it cannot tell, or results that are those of the declared call
};

inline std::string answer_text(const attention::Judgement& judgement) { return to_text(judgement); }

inline Answer answer_to(const MistakeMaker& made, const Mistake& mistake,
                        const std::vector<Mistake>& all, const attention::Judgement& judgement) {
  constexpr double kSame = 3, kTold = 40;
  using attention::Verdict;
  const double apart = made.apart(mistake.results, made.right());
  if (judgement.verdict == Verdict::kUnclear || apart <= kSame) return Answer::kUndecided;
  const std::string text = to_text(judgement);
  if (judgement.verdict == Verdict::kObeys) {
    return apart > kTold ? Answer::kAccepted : Answer::kUndecided;
  }
  const auto says = [&text](const Mistake& one) {
    return std::ranges::any_of(split(one.words, '|'), [&text](std::string_view words) {
      return text.find(words) != text.npos;
    });
  };
  if (says(mistake)) return Answer::kNamed;
  for (const Mistake& other : all) {
    if (!says(other)) continue;
    if (made.apart(mistake.results, other.results) <= kTold) return Answer::kNamed;
  }
  if (judgement.obeyed) {
    MistakenCall other = made.call();
    const Mask& mask = *judgement.obeyed;
    for (Index b = 0; b < other.batch; ++b) {
      for (Index h = 0; h < other.heads; ++h) {
        const std::span<std::uint8_t> cells(&other.open[other.cell(b, h, 0, 0)],
                                            static_cast<std::size_t>(other.queries * other.keys));
        dense_plane(*mask.plane(mask.batch() == 1 ? 0 : b, mask.heads() == 1 ? 0 : h), cells);
      }
    }
    if (made.apart(mistake.results, attend(other)) <= kTold) return Answer::kNamed;
  }
  const bool says_cause =
      judgement.verdict == Verdict::kAnother || judgement.verdict == Verdict::kOtherCall;
  return says_cause ? Answer::kMisnamed : Answer::kNotNamed;
}

}  // namespace maskctl::twin
