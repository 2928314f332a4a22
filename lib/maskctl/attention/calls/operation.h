// An operation as one row of a table: its arguments, its results and its functions. Calls by name,
// listings, random arrays, cache keys, configs, sharding and documentation are derived from it.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "maskctl/attention/calls/static_mask.h"
#include "maskctl/attention/calls/window.h"
#include "maskctl/attention/problems/context.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

struct Shard;
class ShardPlan;

/// Properties of an argument, as bits that can be combined.
enum Role : unsigned {
  kRequired = 1,    // the operation does not run without it
  kIntegers = 2,    // an array of integers or booleans, so random numbers cannot replace it
  kCloses = 4,      // decides which cells are closed; a mask can replace it
  kDrops = 8,       // configures the dropout of attention weights
  kHint = 16,       // affects only speed and rounding
  kByRows = 32,     // an array of rows of which each result reads only some
  kUnlisted = 64,   // can be set only in C++: it has no text form
  kLogDecay = 128,  // log of the factor of the state per token; above 0, the state grows
  kStrict = 256,    // an error where it has no effect; other arguments give a warning
  kParts = 512,     // divides the work into parts; never changes the result
  kBound = 1024,    // a limit: may refuse a call, but never changes a result
  kNoKeys = 2048,   // says what queries without a key get
  kUnit = 4096,     // rows of about length 1, without which results grow with the tokens
  kShare = 8192,    // numbers between 0 and 1
};

/// A pointer to the member of a call that holds an argument. uint8_t stands for every enumeration.
using Slot =
    std::variant<const Tensor**, Tensor**, const Mask**, const BlockMap**, StaticMask*, bool*,
                 Index*, double*, std::uint64_t*, std::optional<Index>*, std::optional<double>*,
                 std::optional<Window>*, std::optional<DType>*, std::uint8_t*, std::string*>;

/// An argument of an operation.
///
/// `axes` names the extents of an array, as in "B Tq Hq D". Axes of the same name have the same
/// extent. "A|B" are alternatives that differ in rank; "Hq/Hkv" is either of two extents; "2Hkv" is
/// twice Hkv; "N+1" is the number of cumulative lengths of N sequences; digits are a fixed extent;
/// an empty list is a scalar. An axis of extent 1 broadcasts. Hq counts query heads, Hkv key heads.
struct Field {
  std::string_view name = {};
  std::string_view alias = {};  // a second name
  bool is_array = false;
  std::string_view axes = {};  // empty unless it is an array
  std::string_view help = {};  // of an option: its values and its default
  unsigned roles = 0;
  Slot (*slot)(void* call) = nullptr;
  std::span<const std::string_view> words = {};  // names of the values of an enumeration, in order
  /// Returns the alternative of `axes` that holds for a call; set where the rank alone does not
  /// decide.
  std::string_view (*axes_in)(const void* call) = nullptr;
  /// The conditions under which the argument has an effect, in the notation of effects.h.
  std::string_view needs = {};
  /// Returns why the argument has no effect in this call although `needs` holds, as in "as many
  /// queries as keys"; empty if it has one. Must accept calls with missing arrays. Null if `needs`
  /// says everything.
  std::string_view (*idle)(const void* call) = nullptr;

  bool is(Role role) const { return (roles & role) != 0; }
  bool listed() const { return !is(kUnlisted); }
};

/// One array of an output or of the gradients. A gradient has the name and axes of its input.
struct ResultField {
  std::string_view name;
  std::string_view axes;
  Tensor* (*array)(void* result);  // returns null if this result lacks the array
};

/// Gradients of a loss with respect to the outputs of an operation; null: that output has none.
struct Cotangents {
  const Tensor* out = nullptr;
  const Tensor* lse = nullptr;
  const Tensor* final_state = nullptr;

  /// The member for an output of this name; null if the output takes no gradient.
  const Tensor** find(std::string_view output) {
    if (output == "out") return &out;
    if (output == "lse") return &lse;
    return output == "final_state" ? &final_state : nullptr;
  }
};

/// Owns arrays, so that a modified copy of a call can point to them.
struct OwnedArrays {
  std::list<Tensor> tensors;
  std::list<Mask> masks;
  std::list<BlockMap> block_maps;

  // keep() stores a copy and returns its address.
  Tensor* keep(const Tensor& tensor) { return &tensors.emplace_back(tensor); }
  Mask* keep(const Mask& mask) { return &masks.emplace_back(mask); }
  BlockMap* keep(const BlockMap& map) { return &block_maps.emplace_back(map); }
};

/// Extents of axes, by name of the axis.
using AxisExtents = std::map<std::string, Index>;

/// A typical call: the arrays that cannot be random, and the extents of all the others.
struct UsualCall {
  AxisExtents extents;
  std::map<std::string, Tensor> arrays = {};
  /// Options that go with the arrays, such as kv_layout, the axis order of a cache.
  std::map<std::string, std::string> options = {};
};

/// An owned call, output or gradients, without its type; the Operation knows the type.
using AnyValue = std::shared_ptr<void>;

/// A row of the table of operations. Rows are written in operations/*/spec.h and completed by
/// describe() in fields.h.
struct Operation {
  std::string_view name;        // name of the C++ function
  std::string_view alias = {};  // a shorter name for messages and keys; if empty, `name`
  std::string_view summary = {};
  std::span<const Field> fields = {};  // arguments; arrays in the order of in_specs
  std::span<const ResultField> outputs = {}, gradients = {};
  std::string_view cotangents = "out";  // outputs whose gradients the backward pass takes, by name
  /// For an operation that goes from token to token without a mask: what happens where borders of
  /// sequences are ignored, as in "the state not reset".
  std::string_view over_borders = {};
  /// A second form under the same name. It is used when an array is given that only that form
  /// takes.
  const Operation* other_form = nullptr;

  /// Whether the GPU has kernels of it.
  bool on_gpu = true;

  // Sharding: the axes that a mesh may split; the axes that the operation itself splits, over a
  // ring of devices; the least number of in_specs; the axes of the array that is updated in place.
  std::string_view splittable = "B Hq Hkv";
  std::string_view collective = {};
  std::size_t least_specs = 3;
  std::string_view updated_axes = {};

  // The functions that know the types of the call; describe() sets them.
  const void* (*empty_call)() = nullptr;
  AnyValue (*copy_call)(const void* call) = nullptr;
  AnyValue (*copy_output)(const void* output) = nullptr;
  AnyValue (*forward)(const void* call) = nullptr;
  AnyValue (*backward)(const void* call, const void* output, const Cotangents& d) = nullptr;
  Context& (*context)(void* call) = nullptr;
  Backend backend_of(const void* call) const {
    return context(const_cast<void*>(call)).backend;  // NOLINT: only read
  }
  /// Makes a typical call of these extents: B sequences of T (or S) tokens, or M rows. Null if
  /// random numbers will do for every array.
  UsualCall (*usual_call)(AxisExtents extents) = nullptr;
  /// Resolves alternative names of arrays and adds the arrays that other arguments imply.
  void (*complete)(void* call, OwnedArrays& owned) = nullptr;
  /// Throws Error(kInvalidArgument) for a way to shard the call that the operation does not
  /// support.
  void (*check_sharding)(const void* call, const ShardPlan& plan) = nullptr;
  /// Adjusts the arguments of one shard that depend on its position in the whole call.
  void (*localise)(void* call, const Shard& shard, const ShardPlan& plan,
                   OwnedArrays& owned) = nullptr;

  bool takes_mask() const;  // whether an argument is a Mask
  /// The argument with this name or alias, if it is listed; null if there is none.
  const Field* find(std::string_view argument, bool is_array) const;
  bool has(std::string_view argument) const {
    return find(argument, true) || find(argument, false);
  }
  /// Whether the arrays of the operation have the axis of heads before that of time: [B,H,T,D].
  bool heads_first() const { return fields.front().axes.starts_with("B H"); }
  bool has_gradients() const { return backward != nullptr; }
};

/// All operations of this build, in the order of listings.
std::span<const Operation* const> operations();
/// The operations without a mask, which the layer kernels adds to them; none in a build without it.
std::span<const Operation* const> maskless_operations();
/// Why this build lacks an operation of this name; empty if it does not, or there is none.
std::string left_out(std::string_view name);
/// The operation with this name or alias; null if there is none.
const Operation* find_operation(std::string_view name);
/// Why a backend cannot run an operation, as in "it has no such kernel"; empty when it can.
std::string unavailable(const Operation& operation, Backend backend);

}  // namespace maskctl::attention
