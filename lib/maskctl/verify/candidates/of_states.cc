// Candidates for operations that go from token to token: borders, states and arguments of theirs
// that were dropped or read otherwise.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "maskctl/tensor/convert.h"
#include "maskctl/verify/candidates/of_call.h"

namespace maskctl::attention {
namespace {

using SharedCall = std::shared_ptr<const CallVariants>;

bool has(const CallVariants& call, const char* array) {
  return call.arguments().arrays.contains(array);
}

/// The state before the first sequence alone, [1,...].
Tensor first_state(const Tensor& states) {
  std::vector<Index> shape = states.shape();
  shape.front() = 1;
  Tensor out(states.dtype(), shape);
  std::copy_n(states.bytes().begin(), out.bytes().size(), out.bytes().begin());
  return out;
}

constexpr const char* kStates[] = {"initial_state", "state"};

void add_borders(const SharedCall& call, Candidates& out) {
  const auto& arrays = call->arguments().arrays;
  const auto ends = arrays.find("cu_seqlens");
  if (ends == arrays.end() || ends->second.elements() <= 2) return;
  out.push_back(
      {fmt::format("without cu_seqlens: borders ignored, {}", call->operation().over_borders),
       {},
       [call] {
         NamedArguments arguments = call->arguments();
         arguments.arrays.erase("cu_seqlens");
         for (const char* name : kStates) {
           const auto found = arguments.arrays.find(name);
           if (found != arguments.arrays.end()) found->second = first_state(found->second);
         }
         NamedResults results = call->run(arguments);
         results.erase("final_state");  // one, where the call has one a sequence
         return results;
       }});
}

/// Moves the borders between sequences by some tokens.
void move_borders(Tensor& ends, std::int64_t by) {
  ends = astype(ends, DType::kInt64);
  const auto all = ends.as<std::int64_t>();
  for (std::int64_t& end : all.subspan(1, all.size() - 2)) {
    end = std::clamp(end + by, std::int64_t{0}, all.back());
  }
}

void add_moved_borders(const SharedCall& call, Candidates& out) {
  const auto ends = call->arguments().arrays.find("cu_seqlens");
  if (ends == call->arguments().arrays.end() || ends->second.elements() <= 2) return;
  for (const int by : {-1, 1}) {
    out.push_back(with_arguments(
        call, fmt::format("borders of cu_seqlens a token {}", by < 0 ? "early" : "late"), {},
        [by](NamedArguments& a) { move_borders(a.arrays.at("cu_seqlens"), by); }));
  }
}

void add_states(const SharedCall& call, Candidates& out) {
  for (const char* name : kStates) {
    if (!has(*call, name)) continue;
    out.push_back(with_arguments(call,
                                 fmt::format("without {}: each sequence from a state of 0", name),
                                 {}, [name](NamedArguments& a) {
                                   Tensor& state = a.arrays.at(name);
                                   state = Tensor(state.dtype(), state.shape());
                                 }));
  }
}

void add_decays(const SharedCall& call, Candidates& out) {
  for (const Field& field : call->operation().fields) {
    const std::string name(field.name);
    if (!field.is(kLogDecay) || field.is(kRequired) || !has(*call, name.c_str())) continue;
    out.push_back(with_arguments(call, fmt::format("without {}: its decay not applied", name), {},
                                 [name](NamedArguments& a) {
                                   Tensor& decay = a.arrays.at(name);
                                   decay = Tensor(decay.dtype(), decay.shape());
                                 }));
  }
}

/// Divides each row by its length.
void make_unit(Tensor& rows) {
  const std::size_t width = as_size(rows.shape().back());
  const auto values = rows.as<float>();
  for (std::size_t from = 0; from < values.size(); from += width) {
    const auto row = values.subspan(from, width);
    double squared = 0;
    for (const float x : row) squared += static_cast<double>(x) * x;
    const double by = squared > 0 ? 1 / std::sqrt(squared) : 1;
    for (float& x : row) x = static_cast<float>(x * by);
  }
}

void add_delta_rule(const SharedCall& call, Candidates& out) {
  const auto with = [&](const char* text, void (*change)(NamedArguments&)) {
    out.push_back(with_arguments(call, text, {}, change));
  };
  with("without beta: each value written in full",
       [](NamedArguments& a) { std::ranges::fill(a.arrays.at("beta").as<float>(), 1.F); });
  with("beta after another sigmoid", [](NamedArguments& a) {
    for (float& x : a.arrays.at("beta").as<float>()) x = 1 / (1 + std::exp(-x));
  });
  with("key and query divided by their lengths", [](NamedArguments& a) {
    for (const char* name : {"key", "query"}) make_unit(a.arrays.at(name));
  });
}

void add_convolution(const SharedCall& call, Candidates& out) {
  const auto& options = call->arguments().options;
  const auto found = options.find("activation");
  const bool uses_silu = found != options.end() && found->second == "silu";
  out.push_back(with_arguments(
      call, uses_silu ? "without activation: silu not applied" : "silu applied to the output", {},
      [uses_silu](NamedArguments& a) { a.options["activation"] = uses_silu ? "none" : "silu"; }));
  out.push_back(
      with_arguments(call, "the taps of weight in reverse order", {}, [](NamedArguments& a) {
        Tensor& weight = a.arrays.at("weight");
        const std::size_t taps = as_size(weight.shape().back());
        const auto all = weight.as<float>();
        for (std::size_t from = 0; from < all.size(); from += taps) {
          std::ranges::reverse(all.subspan(from, taps));
        }
      }));
}

}  // namespace

Candidates of_states(const SharedCall& call) {
  Candidates out;
  const Operation& operation = call->operation();
  if (operation.over_borders.empty() || call->gradients()) return out;
  add_borders(call, out);
  add_moved_borders(call, out);
  add_states(call, out);
  add_decays(call, out);
  if (operation.has("beta")) add_delta_rule(call, out);
  if (operation.has("activation")) add_convolution(call, out);
  return out;
}

}  // namespace maskctl::attention
