// Calls operations by name, with named arguments and results, as the command line does.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/attention/calls/named_arguments.h"

namespace maskctl::attention {

/// The form of the operation to call: its other_form if an array is given that only that form
/// takes.
const Operation& form_of(const Operation& operation,
                         const std::function<bool(std::string_view array)>& is_given);
const Operation& form_of(const Operation& operation, const NamedArguments& arguments);

/// Binds all arguments, then runs the operation. Throws Error(kInvalidArgument) for a name that the
/// operation does not have, a missing required array, an option whose text cannot be parsed, and an
/// argument of role kStrict that has no effect; also throws what the operation throws.
NamedResults run(const Operation& operation, const NamedArguments& arguments);

/// One line for each argument that is valid but probably a mistake: an argument that has no effect,
/// or log decays above 0. Throws what run() throws for its arguments.
std::vector<std::string> warnings(const Operation& operation, const NamedArguments& arguments);
/// Warnings that need the results: a setting for queries without keys, although every query sees a
/// key.
std::vector<std::string> warnings(const Operation& operation, const NamedArguments& arguments,
                                  const NamedResults& results);

/// The arguments without those that have this role.
NamedArguments without(const Operation& operation, Role role, NamedArguments arguments);
/// The arguments without everything that closes cells (causal, window, lengths ...), so that a mask
/// that is then added alone decides which cells are open.
NamedArguments without_closing(const Operation& operation, NamedArguments arguments);

/// Normally distributed f32 numbers. Equal seeds give equal numbers, except that the last bit may
/// depend on the machine's log and cos.
Tensor random_normal(std::vector<Index> shape, std::uint64_t seed);
/// Fills `out` with consecutive numbers of the stream that random_normal(shape, seed) draws from,
/// beginning with number `first` (from 0).
void random_normal(std::uint64_t seed, Index first, std::span<float> out);

/// Returns default extents of axes ("B", "T", ...), used where neither the caller nor a given array
/// fixes the extent.
const AxisExtents& usual_extents();

/// Turns numbers of random_normal() into elements of an argument of these roles, whose rows have
/// `width` elements: with kUnit divided by sqrt(width), with kShare between 0 and 1.
void fit_to_roles(unsigned roles, Index width, std::span<float> numbers);

/// A random array that is described but not made yet.
struct RandomOutline {
  DType dtype = DType::kFloat32;
  std::vector<Index> shape;
  std::uint64_t seed = 0;  // for random_normal()
  unsigned roles = 0;      // for fit_to_roles()
};

struct RandomArrays {
  AxisExtents extents;      // extents to use for axes that no given array fixes
  AxisExtents wanted = {};  // extents that the caller asked for: given arrays must have them
  std::uint64_t seed = 0;
  DType dtype = DType::kFloat32;
  Index max_bytes = Index{4} << 30;  // largest size of an array as f32
  bool usual = false;                // first add the arrays of Operation::usual_call
  /// Shapes of arrays that the caller has, but that are not in the arguments.
  std::map<std::string, std::vector<Index>> outlines = {};
  /// If not null, receives a description of each array, and no array is made.
  std::map<std::string, RandomOutline>* parts = nullptr;
};
/// Adds random arrays for the required arrays of floats that are missing, each with a random stream
/// of its own; the extents come from `random` and from the given arrays. Throws
/// Error(kInvalidArgument) for a missing array of integers (only a usual call supplies those),
/// Error(kShape) for a given array whose extent is not the wanted one, Error(kLimit) for an array
/// of more than max_bytes.
void add_random_arrays(const Operation& operation, const RandomArrays& random,
                       NamedArguments& arguments);

}  // namespace maskctl::attention
