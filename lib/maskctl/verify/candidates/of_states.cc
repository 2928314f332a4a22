// Candidates for recurrences: arguments of the state that were dropped.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "maskctl/verify/candidates/of_call.h"

namespace maskctl::attention {
namespace {

bool has_state(const Operation& operation) {
  return std::ranges::any_of(operation.outputs,
                             [](const ResultField& field) { return field.name == "final_state"; });
}

/// The state before the first sequence alone, [1,H,K,V].
Tensor first_state(const Tensor& states) {
  std::vector<Index> shape = states.shape();
  shape.front() = 1;
  Tensor out(states.dtype(), shape);
  std::copy_n(states.bytes().begin(), out.bytes().size(), out.bytes().begin());
  return out;
}

}  // namespace

Candidates of_states(const std::shared_ptr<const CallVariants>& call) {
  Candidates out;
  if (!has_state(call->operation()) || call->gradients()) return out;
  const auto& arrays = call->arguments().arrays;
  const auto add = [&](std::string text, std::function<void(NamedArguments&)> change) {
    out.push_back(with_arguments(call, std::move(text), {}, std::move(change)));
  };
  const char* const kStates[] = {"initial_state", "state"};
  if (const auto ends = arrays.find("cu_seqlens");
      ends != arrays.end() && ends->second.elements() > 2) {
    Candidate carried{
        "without cu_seqlens: borders ignored, the state not reset", {}, [call, kStates] {
          NamedArguments arguments = call->arguments();
          arguments.arrays.erase("cu_seqlens");
          for (const char* name : kStates) {
            const auto found = arguments.arrays.find(name);
            if (found != arguments.arrays.end()) {
              found->second = first_state(found->second);
            }
          }
          NamedResults results = call->run(arguments);
          results.erase("final_state");  // one, where the call has one a sequence
          return results;
        }};
    out.push_back(std::move(carried));
  }
  for (const char* name : kStates) {
    if (!arrays.contains(name)) continue;
    add(fmt::format("without {}: each sequence from a state of 0", name),
        [name](NamedArguments& a) {
          Tensor& state = a.arrays.at(name);
          state = Tensor(state.dtype(), state.shape());
        });
  }
  for (const Field& field : call->operation().fields) {
    const std::string name(field.name);
    if (!field.is(kLogDecay) || field.is(kRequired) || !arrays.contains(name)) continue;
    add(fmt::format("without {}: its decay not applied", name), [name](NamedArguments& a) {
      Tensor& decay = a.arrays.at(name);
      decay = Tensor(decay.dtype(), decay.shape());
    });
  }
  return out;
}

}  // namespace maskctl::attention
