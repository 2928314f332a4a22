#include "maskctl/verify/candidates/of_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "maskctl/base/text.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/verify/key_side.h"
#include "maskctl/verify/merged.h"

namespace maskctl::attention {
namespace {

using SharedCall = std::shared_ptr<const CallVariants>;

/// Turns [B,K,Hkv,D] (or heads first) into [B,K,Hq,D]: query head h gets key head h % Hkv.
Tensor heads_in_turn(const Tensor& tensor, const ProbeShape& shape) {
  std::vector<Index> extents = tensor.shape();
  extents[shape.layout == Layout::kBthd ? 2 : 1] = shape.heads;
  Tensor out(tensor.dtype(), extents);
  const Index bytes = extents.back() * size_bytes(tensor.dtype());
  for (Index b = 0; b < shape.batch; ++b) {
    for (Index j = 0; j < shape.keys; ++j) {
      for (Index h = 0; h < shape.heads; ++h) {
        const Index from =
            vector_at(shape.layout, b, j, h % shape.kv_heads, shape.keys, shape.kv_heads);
        const Index to = vector_at(shape.layout, b, j, h, shape.keys, shape.heads);
        std::copy_n(tensor.bytes().begin() + from * bytes, bytes, out.bytes().begin() + to * bytes);
      }
    }
  }
  return out;
}

Candidate with(const SharedCall& call, std::string text,
               std::function<void(NamedArguments&)> change) {
  return with_arguments(call, std::move(text), {}, std::move(change));
}

bool has_array(const CallVariants& call, const char* name) {
  return call.arguments().arrays.contains(name);
}

/// The soft cap of the call as text; empty if it has none.
std::string soft_cap(const CallVariants& call) {
  const auto found = call.arguments().options.find("logits_soft_cap");
  return found == call.arguments().options.end() || found->second == "none" ? "" : found->second;
}

void add_to_all(Tensor& array, float by) {
  for (float& x : array.as<float>()) x += by;
}

bool gives_lse(const CallVariants& call) {
  return std::ranges::any_of(call.operation().outputs,
                             [](const ResultField& field) { return field.name == "lse"; });
}

/// Whether the results of this call can be merged with those of another call: it has a mask, an lse
/// and no gradients.
bool is_mergeable(const SharedCall& call) {
  return call->mask() && !call->gradients() && gives_lse(*call);
}

/// The results of a kernel that caps logits after it has closed cells: closed cells have the logit
/// -cap.
NamedResults capped_after_mask(const CallVariants& call, double cap) {
  NamedArguments closed = call.arguments();
  closed.mask = complement(*call.mask());
  closed.options.erase("logits_soft_cap");
  closed.arrays.erase("softmax_aux");
  if (adds_bias_before_cap(call.operation())) closed.arrays.erase("bias");
  Tensor& query = closed.arrays.at("query");
  query = Tensor(query.dtype(), query.shape());  // all logits are 0
  closed.options["empty_row"] = "zero";
  return merged(call, call.declared(), call.run(closed), softmax_factors(0, -cap), 0, -cap);
}

/// The results of a kernel that adds a bool mask to the logits as numbers: logits of open cells are
/// raised by 1, and no cell is closed.
NamedResults mask_added(const CallVariants& call) {
  NamedArguments open = call.arguments(), closed = call.arguments();
  open.arrays.erase("softmax_aux");
  closed.mask = complement(*call.mask());
  for (NamedArguments* arguments : {&open, &closed}) {
    if (call.operation().has("empty_row")) arguments->options["empty_row"] = "zero";
  }
  if (has_array(call, "softmax_aux")) closed.options.erase("empty_row");
  return merged(call, call.run(open), call.run(closed), softmax_factors(1, 0), 1, 0);
}

/// A candidate with the lse of the declared call after `change`, and all other results as declared.
Candidate with_lse(const SharedCall& call, std::string text,
                   std::function<void(const CallVariants&, Tensor& lse)> change) {
  return {std::move(text), {}, [call, change = std::move(change)] {
            NamedResults results = call->declared();
            change(*call, results.at("lse"));
            return results;
          }};
}

/// Multiplies finite numbers.
void multiply(Tensor& array, double by) {
  for (float& x : array.as<float>()) {
    if (std::isfinite(x)) x = static_cast<float>(x * by);
  }
}

/// The largest logit of each row, sinks included. All logits are multiplied by kTimes; the lse
/// divided by kTimes is then the largest logit, but for a small term if several logits are equal.
Tensor row_maxima(const CallVariants& call) {
  constexpr double kTimes = 0x1p14;
  NamedArguments sharp = call.arguments();
  const ProbeShape shape = shape_of_call(call.operation(), call.arguments());
  const auto scale = sharp.options.find("softmax_scale");
  const std::optional<double> given =
      scale == sharp.options.end() ? std::nullopt : number_from<double>(scale->second);
  sharp.options["softmax_scale"] = fmt::format(
      "{:.17g}", kTimes * given.value_or(1 / std::sqrt(static_cast<double>(shape.dim))));
  if (const std::string cap = soft_cap(call); !cap.empty()) {
    sharp.options["logits_soft_cap"] =
        fmt::format("{:.17g}", kTimes * number_from<double>(cap).value_or(1));
  }
  for (const char* name : {"bias", "softmax_aux"}) {
    if (has_array(call, name)) multiply(sharp.arrays.at(name), kTimes);
  }
  Tensor out = call.run(sharp).at("lse");
  multiply(out, 1 / kTimes);
  return out;
}

}  // namespace

Candidates of_readings(const SharedCall& call) {
  Candidates out;
  if (!call->mask()) return out;
  if (call->operation().has("empty_row") && has_empty_rows(*call->mask())) {
    for (const char* policy : {"zero", "mean", "nan"}) {
      if (policy == empty_row_policy(call->arguments())) continue;
      out.push_back(with(call, std::string("rows without a key as by empty_row=") + policy,
                         [policy](NamedArguments& a) { a.options["empty_row"] = policy; }));
    }
  }
  const bool plain = !has_latent(call->arguments()) && !call->gradients() &&
                     has_array(*call, "key") && !has_array(*call, "softmax_aux");
  if (!plain) return out;
  const ProbeShape shape = shape_of_call(call->operation(), call->arguments());
  const bool groups = shape.kv_heads > 1 && shape.kv_heads < shape.heads;
  if (!groups || (call->mask()->heads() != 1 && call->mask()->heads() != shape.heads)) return out;
  out.push_back(with(call, "query head h with key head h mod Hkv instead of h / (Hq / Hkv)",
                     [shape](NamedArguments& a) {
                       for (const char* name : {"key", "value"}) {
                         a.arrays.at(name) = heads_in_turn(a.arrays.at(name), shape);
                       }
                     }));
  return out;
}

Candidates of_arguments(const SharedCall& call) {
  Candidates out;
  if (has_array(*call, "softmax_aux")) {
    out.push_back(with(call, "without softmax_aux (sinks)",
                       [](NamedArguments& a) { a.arrays.erase("softmax_aux"); }));
    out.push_back(with(call, "softmax_aux (sinks) counted twice", [](NamedArguments& a) {
      add_to_all(a.arrays.at("softmax_aux"), std::numbers::ln2_v<float>);
    }));
  }
  if (has_array(*call, "bias")) {
    out.push_back(with(call, "without bias", [](NamedArguments& a) { a.arrays.erase("bias"); }));
    out.push_back(with(call, "the bias subtracted instead of added",
                       [](NamedArguments& a) { multiply(a.arrays.at("bias"), -1); }));
  }
  if (const std::string cap = soft_cap(*call); !cap.empty()) {
    out.push_back(with(call, fmt::format("without logits_soft_cap {}", cap),
                       [](NamedArguments& a) { a.options.erase("logits_soft_cap"); }));
    const auto number = number_from<double>(cap);
    if (number && is_mergeable(call)) {
      out.push_back({fmt::format("logits_soft_cap {} applied after the mask, so that closed keys "
                                 "keep the logit -{}",
                                 cap, cap),
                     {},
                     [call, number] { return capped_after_mask(*call, *number); }});
    }
  }
  if (is_mergeable(call)) {
    out.push_back({"the mask added to the logits as 0 and 1, which closes no cell", {}, [call] {
                     return mask_added(*call);
                   }});
  }
  return out;
}

Candidates of_lse(const SharedCall& call) {
  Candidates out;
  if (!gives_lse(*call) || call->gradients()) return out;
  out.push_back(with_lse(call, "lse to base 2 (lse / ln 2)", [](const CallVariants&, Tensor& lse) {
    multiply(lse, 1 / std::numbers::ln2);
  }));
  out.push_back(
      with_lse(call, "lse times ln 2, as if it had been to base 2",
               [](const CallVariants&, Tensor& lse) { multiply(lse, std::numbers::ln2); }));
  if (has_latent(call->arguments()) || !has_array(*call, "key") ||
      !call->operation().has("softmax_scale")) {
    return out;
  }
  out.push_back(with_lse(call, "lse without the maximum, the logarithm of the sum alone",
                         [](const CallVariants& of, Tensor& lse) {
                           const Tensor most = row_maxima(of);
                           for (Index n = 0; n < lse.elements(); ++n) {
                             const float largest = most.as<float>()[as_size(n)];
                             // A row without a key has no logit to be without.
                             if (std::isfinite(largest)) lse.as<float>()[as_size(n)] -= largest;
                           }
                         }));
  out.push_back(with_lse(call, "the largest logit in the place of lse",
                         [](const CallVariants& of, Tensor& lse) { lse = row_maxima(of); }));
  return out;
}

}  // namespace maskctl::attention
