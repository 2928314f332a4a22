// Every operation by name: its arguments, and how to call it.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "maskctl/attention/named/call.h"

namespace maskctl::attention {

/// An input array of an operation. `axes` names its extents as "B Tq Hq D"; an axis of digits is
/// fixed, "A|B" are alternatives.
struct NamedArray {
  std::string_view name;
  std::string_view axes;
  bool required = false;
  bool integers = false;
};

/// An option that is no array: its values and default in words.
struct NamedOption {
  std::string_view name;
  std::string_view values;
};

struct NamedOperation {
  std::string_view name;      // of the function in seed 003
  std::string_view registry;  // the seed's name of its kernels where that differs
  std::string_view summary;
  std::span<const NamedArray> arrays;
  std::span<const NamedOption> options;
  bool takes_mask = false;  // a lazy mask beside (or instead of) the options that mask
  bool has_gradients = false;
  NamedResults (*run)(Call& call);
};

/// In the order of seed 003.
std::span<const NamedOperation> named_operations();
/// By either name; null when there is none.
const NamedOperation* find_operation(std::string_view name);

/// Checks the names of all arguments, then runs the operation.
/// Throws Error(kInvalidArgument) for a name that the operation does not have, and what it throws.
NamedResults run(const NamedOperation& operation, const NamedArguments& arguments);

/// Extents of the axes that random inputs have.
using AxisExtents = std::map<std::string, Index>;
struct RandomArrays {
  AxisExtents extents;      // of axes that no given array fixes
  AxisExtents wanted = {};  // of axes on which a given array must agree
  std::uint64_t seed = 0;
  DType dtype = DType::kFloat32;
  Index max_bytes = Index{4} << 30;  // of one array
};
/// Fills the required arrays of floats that are not given, of the extents of their axes; each array
/// has a stream of its own. Throws Error(kInvalidArgument) for required arrays of integers, which
/// cannot be made up, Error(kShape) for a given array that has another extent than is wanted,
/// Error(kLimit) for an array over max_bytes.
void add_random_arrays(const NamedOperation& operation, const RandomArrays& random,
                       NamedArguments& arguments);

// The tables of the families, joined by named_operations().
std::span<const NamedOperation> dense_operations();
std::span<const NamedOperation> paged_operations();
std::span<const NamedOperation> linear_operations();
std::span<const NamedOperation> other_operations();

}  // namespace maskctl::attention
