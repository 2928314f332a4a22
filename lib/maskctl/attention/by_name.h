// Operations called by name, as a command line or a manifest does: arguments and results by name.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/attention/operation.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// "out", "lse", "weights", "final_state", ..., "grad_NAME" of the input NAME, and arrays that the
/// operation updates.
using NamedResults = std::map<std::string, Tensor>;

/// Seconds that the passes of a call took: the operation alone, without making random cotangents.
struct CallTimes {
  double forward = 0, backward = 0;
};

/// Runs the passes of calls in another way than the operation itself, as with a chosen config.
class CallRunner {
 public:
  virtual ~CallRunner() = default;
  virtual AnyValue run_forward(const Operation& operation, const void* call) = 0;
  virtual AnyValue run_backward(const Operation& operation, const void* call, const void* output,
                                const Cotangents& d) = 0;
};

/// What is passed to an operation that is chosen by name.
struct NamedArguments {
  std::map<std::string, Tensor> arrays;        // inputs, and "cotangent_NAME" of outputs
  std::map<std::string, std::string> options;  // as text: "true", "0.5", "3+1", "none"
  std::optional<Mask> mask;                    // of operations that take one
  StaticMask static_mask;                      // of blocksparse_attention
  Context context = {};
  CallRunner* runner = nullptr;  // null: the operation itself runs
  /// Gradients are computed where a cotangent is given; with a seed, missing cotangents are random.
  std::optional<std::uint64_t> gradient_seed;
  CallTimes* times = nullptr;  // receives the times of the call; null: nobody asks
};

/// The form of an operation for which arrays of these names are given.
const Operation& form_of(const Operation& operation,
                         const std::function<bool(std::string_view array)>& is_given);
const Operation& form_of(const Operation& operation, const NamedArguments& arguments);

/// Binds all arguments, then runs the operation. Throws Error(kInvalidArgument) for a name that the
/// operation does not have, a required array that is missing, text that is no value of its option,
/// and a strict argument that changes nothing; and what the operation throws.
NamedResults run(const Operation& operation, const NamedArguments& arguments);

/// What runs, but can hardly be meant, one line each: arguments that change nothing, decays above
/// 0. Throws what run() throws for its arguments.
std::vector<std::string> warnings(const Operation& operation, const NamedArguments& arguments);
/// Warnings that only the results of the call can tell.
std::vector<std::string> warnings(const Operation& operation, const NamedArguments& arguments,
                                  const NamedResults& results);

/// Without the arguments that have this role.
NamedArguments without(const Operation& operation, Role role, NamedArguments arguments);
/// Without all that closes cells: a mask in their place says alone what is open.
NamedArguments without_closing(const Operation& operation, NamedArguments arguments);

/// Normally distributed f32 numbers, the same for equal seeds except in the last bit of log and
/// cos.
Tensor random_normal(std::vector<Index> shape, std::uint64_t seed);
/// Fills `out` with the numbers of random_normal() from number `first` on; the shape does not
/// matter.
void random_normal(std::uint64_t seed, Index first, std::span<float> out);

/// The extent of every axis that a caller may set, where nothing else fixes it.
const AxisExtents& usual_extents();

/// An array of random numbers that is not made yet.
struct RandomOutline {
  DType dtype = DType::kFloat32;
  std::vector<Index> shape;
  std::uint64_t seed = 0;  // of random_normal
};

struct RandomArrays {
  AxisExtents extents;      // of axes that no given array fixes
  AxisExtents wanted = {};  // of axes on which a given array must agree
  std::uint64_t seed = 0;
  DType dtype = DType::kFloat32;
  Index max_bytes = Index{4} << 30;  // of one array
  bool usual = false;                // the arrays of the operation's usual call come first
  /// Shapes of arrays that are given, but not among the arguments.
  std::map<std::string, std::vector<Index>> outlines = {};
  /// Gets descriptions of the arrays instead of the arrays; null: the arrays are made.
  std::map<std::string, RandomOutline>* parts = nullptr;
};
/// Fills the required arrays of floats that are not given, of the extents of their axes; each array
/// has a stream of its own. Throws Error(kInvalidArgument) for required arrays of integers, which
/// cannot be made up but for a usual call, Error(kShape) for a given array that has another extent
/// than is wanted, Error(kLimit) for an array over max_bytes.
void add_random_arrays(const Operation& operation, const RandomArrays& random,
                       NamedArguments& arguments);

}  // namespace maskctl::attention
