// The arguments and results of an operation that is called by name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "maskctl/attention/calls/operation.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// Keys are "out", "lse", "weights", "final_state" and other outputs, "grad_NAME" for the gradient
/// of the input NAME, and the names of arrays that the operation updates in place.
using NamedResults = std::map<std::string, Tensor>;

/// The seconds that each pass took: the operation alone, without making random cotangents.
struct CallTimes {
  double forward = 0, backward = 0;
};

/// Runs the passes of a call in place of Operation::forward and backward, for example with a chosen
/// config.
class CallRunner {
 public:
  virtual ~CallRunner() = default;
  virtual AnyValue run_forward(const Operation& operation, const void* call) = 0;
  virtual AnyValue run_backward(const Operation& operation, const void* call, const void* output,
                                const Cotangents& d) = 0;
};

/// The arguments of an operation that is called by name.
struct NamedArguments {
  std::map<std::string, Tensor> arrays;        // inputs; "cotangent_NAME": gradient of output NAME
  std::map<std::string, std::string> options;  // values as text: "true", "0.5", "3+1", "none"
  std::optional<Mask> mask;                    // for operations that take a mask
  StaticMask static_mask;                      // for blocksparse_attention
  Context context = {};
  CallRunner* runner = nullptr;  // null: Operation::forward and backward run
  /// The backward pass runs if there is a cotangent of "out". With this seed, a missing cotangent
  /// (except that of "lse") is random.
  std::optional<std::uint64_t> gradient_seed;
  CallTimes* times = nullptr;  // the times of the call are added to it; may be null
};

}  // namespace maskctl::attention
