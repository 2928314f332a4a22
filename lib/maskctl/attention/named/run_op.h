// Runs an operation by the description that modules have of it; private to the tables of
// operations.
#pragma once

#include <concepts>
#include <string>
#include <type_traits>
#include <utility>

#include "maskctl/attention/named/call.h"
#include "maskctl/attention/runtime/runtime.h"

namespace maskctl::attention {

/// Inputs and options of one call, the arrays where Op wants them.
template <class Op>
struct Bound {
  typename Op::Inputs in;
  typename Op::Options options;
};

template <class Op>
Bound<Op> bind(Call& call) {
  Bound<Op> bound;
  bound.options.backend = call.backend();
  Op::arrays(bound.in, bound.options,
             [&call](std::string_view name, auto& array, std::string_view) {
               if constexpr (std::same_as<decltype(array), const Tensor*&>) {
                 array = call.optional_array(std::string(name));
               }
             });
  return bound;
}

inline void add_result(NamedResults& results, const std::string& name, Tensor& array) {
  results[name] = std::move(array);
}
inline void add_result(NamedResults& results, const std::string& name,
                       std::optional<Tensor>& array) {
  if (array) results[name] = std::move(*array);
}

/// The cotangents of `out` and `final_state`; that of lse only where it is given.
template <class Op>
Cotangents cotangents_of(Call& call, typename Op::Output& output) {
  Cotangents out;
  Op::outputs(output, [&](std::string_view name, auto& array, std::string_view) {
    const Tensor* like = nullptr;
    if constexpr (std::same_as<decltype(array), Tensor&>) {
      like = &array;
    } else if (array) {
      like = &*array;
    }
    if (!like) return;
    if (name == "out") out.out = call.cotangent("out", *like);
    if (name == "final_state") out.final_state = call.cotangent("final_state", *like);
  });
  return out;
}

/// Forward, gradients where a cotangent asks for them, and everything under its name. `lse`: its
/// cotangent is taken too.
template <class Op>
NamedResults run_op(Call& call, const Bound<Op>& bound, bool lse = false) {
  const auto& in = bound.in;
  const auto& options = bound.options;
  Runtime* runtime = call.runtime();
  typename Op::Output output = call.timed(&CallTimes::forward, [&] {
    return runtime ? runtime->call<Op>(in, options) : Op::forward(in, options);
  });
  NamedResults results;
  if constexpr (Module<Op>::kHasBackward) {
    Cotangents cotangents = cotangents_of<Op>(call, output);
    if (lse) cotangents.lse = call.optional_array("cotangent_lse");
    if (cotangents.out) {
      auto gradients = call.timed(&CallTimes::backward, [&] {
        return runtime ? runtime->call_backward<Op>(in, output, cotangents, options)
                       : Op::backward(in, output, cotangents, options);
      });
      Op::gradients(gradients, [&results](std::string_view name, auto& array) {
        add_result(results, "grad_" + std::string(name), array);
      });
    }
  }
  Op::outputs(output, [&results](std::string_view name, auto& array, std::string_view) {
    add_result(results, std::string(name), array);
  });
  return results;
}

}  // namespace maskctl::attention
