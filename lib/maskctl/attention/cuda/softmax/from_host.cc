#include "maskctl/attention/cuda/softmax/from_host.h"

#include <memory>
#include <optional>
#include <vector>

#include "maskctl/attention/cuda/gpus.h"
#include "maskctl/attention/cuda/host_call.h"
#include "maskctl/attention/cuda/softmax/call_parts.h"
#include "maskctl/attention/cuda/softmax/softmax.h"

namespace maskctl::attention::cuda {
namespace {

/// Makes later work of the stream `then` wait for all work that the stream `first` has now.
void order(Stream first, Stream then) {
  const Event event;
  event.record(first);
  wait_for(event.get(), then);
}

/// A plan that is made once and read by all parts of a call, each in a stream of its own.
template <class Plan>
class SharedPlan {
 public:
  explicit SharedPlan(const SoftmaxProblem& part) : plan_(part, stream_.get()) {}

  /// Calls run(plan), which adds work to `stream` that reads the plan. The plan's memory is freed
  /// after this work.
  template <class Run>
  void read(Stream stream, Run&& run) const {
    order(stream_.get(), stream);
    try {
      run(plan_);
    } catch (...) {
      order(stream, stream_.get());
      throw;
    }
    order(stream, stream_.get());
  }

 private:
  OwnStream stream_;
  Plan plan_;
};

template <auto kernel, class Plan, class... Arrays>
void run_parts(const std::vector<Range>& parts, const SoftmaxProblem& problem,
               const Arrays&... arrays) {
  if (parts.size() == 1) return FromHost<kernel>::run(problem, arrays..., {});
  std::optional<SharedPlan<Plan>> shared;
  if (problem.mask.batch() == 1) shared.emplace(part_of(problem, parts.front()));
  std::unique_ptr<HostCall> earlier;
  for (const Range part : parts) {
    auto call = std::make_unique<HostCall>();
    const SoftmaxProblem own = part_of(problem, part);
    const auto run = [&](const Plan& plan) {
      kernel(call->workspace(), to_device(*call, own), plan,
             to_device(*call, part_of(arrays, part))...);
    };
    if (shared) {
      shared->read(call->stream(), run);
    } else {
      run(Plan(own, call->stream()));
    }
    throw_if_stopped();
    if (earlier) earlier->finish();
    earlier = std::move(call);
  }
  earlier->finish();
}

}  // namespace

void softmax_forward_from_host(const SoftmaxProblem& problem, const SoftmaxOutputs& outputs,
                               Index least_part_bytes) {
  run_parts<softmax_forward, SoftmaxPlan>(parts_of(problem, outputs, least_part_bytes), problem,
                                          outputs);
}

void softmax_backward_from_host(const SoftmaxProblem& problem, const SoftmaxBackwardInputs& inputs,
                                const SoftmaxGradientOutputs& gradients, Index least_part_bytes) {
  run_parts<softmax_backward, SoftmaxBackwardPlan>(
      parts_of(problem, inputs, gradients, least_part_bytes), problem, inputs, gradients);
}

}  // namespace maskctl::attention::cuda
