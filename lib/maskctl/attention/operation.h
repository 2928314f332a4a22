// An operation as one row: what it takes, what it gives, how it runs. Binding by name, listings,
// random arrays, keys of caches, hints of configs, shards and documentation follow from it.
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

#include "maskctl/attention/problems/context.h"
#include "maskctl/attention/static_mask.h"
#include "maskctl/attention/window.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

struct Shard;
class ShardPlan;

/// What an argument is to its operation; any number of these hold.
enum Role : unsigned {
  kRequired = 1,    // the operation does not run without it
  kIntegers = 2,    // an array of integers or booleans: random numbers cannot stand in for it
  kCloses = 4,      // says which cells are closed; a mask can take its place
  kDrops = 8,       // belongs to the random dropping of weights
  kHint = 16,       // changes speed and rounding only
  kByRows = 32,     // an array of rows, of which each result reads only some
  kUnlisted = 64,   // for callers in C++: it cannot be written as text
  kLogDecay = 128,  // logarithms of what each step keeps of the state: at most 0, or it grows
  kStrict = 256,    // refused in a call in which it changes nothing; others are noted
  kParts = 512,     // says who computes which part: never changes the result
  kBound = 1024,    // refuses calls and changes none
  kNoKeys = 2048,   // says what queries without a key get
};

/// A member of a call, by its type. The last one is an enumeration of one byte.
using Slot =
    std::variant<const Tensor**, Tensor**, const Mask**, const BlockMap**, StaticMask*, bool*,
                 Index*, double*, std::uint64_t*, std::optional<Index>*, std::optional<double>*,
                 std::optional<Window>*, std::optional<DType>*, std::uint8_t*, std::string*>;

/// One argument.
///
/// `axes` names the extents of an array: "B Tq Hq D". Axes of one name have one extent. "A|B" are
/// alternatives, told apart by their rank; "Hq/Hkv" is one of two extents; "2Hkv" is twice Hkv;
/// "N+1" are cumulative lengths of N sequences; digits are a fixed extent; an empty list is a
/// single number. An axis of extent 1 broadcasts. Hq are query heads, Hkv the key heads that they
/// share.
struct Field {
  std::string_view name = {};
  std::string_view alias = {};  // another name for it
  bool is_array = false;
  std::string_view axes = {};  // of an array
  std::string_view help = {};  // of an option: its values and default
  unsigned roles = 0;
  Slot (*slot)(void* call) = nullptr;
  std::span<const std::string_view> words = {};  // of an enumeration, in its order
  /// The alternative of `axes` that holds for a call, where the rank does not tell.
  std::string_view (*axes_in)(const void* call) = nullptr;
  /// What it takes for a value to change anything, in the notation of effects.h.
  std::string_view needs = {};
  /// Why it changes nothing in a call that has what it needs: "as many queries as keys"; empty
  /// where it does. Arrays may be missing. Null where needs say all.
  std::string_view (*idle)(const void* call) = nullptr;

  bool is(Role role) const { return (roles & role) != 0; }
  bool listed() const { return !is(kUnlisted); }
};

/// One array of an output or of gradients; those have the name of their input, and its axes.
struct ResultField {
  std::string_view name;
  std::string_view axes;
  Tensor* (*array)(void* result);  // null where this result lacks it
};

/// Gradients of a loss with respect to what an operation gave; null where none flows in.
struct Cotangents {
  const Tensor* out = nullptr;
  const Tensor* lse = nullptr;
  const Tensor* final_state = nullptr;

  /// The cotangent of an output; null for outputs that have none.
  const Tensor** find(std::string_view output) {
    if (output == "out") return &out;
    if (output == "lse") return &lse;
    return output == "final_state" ? &final_state : nullptr;
  }
};

/// Arrays that live as long as a changed copy of a call.
struct OwnedArrays {
  std::list<Tensor> tensors;
  std::list<Mask> masks;
  std::list<BlockMap> block_maps;

  // Copies.
  Tensor* keep(const Tensor& tensor) { return &tensors.emplace_back(tensor); }
  Mask* keep(const Mask& mask) { return &masks.emplace_back(mask); }
  BlockMap* keep(const BlockMap& map) { return &block_maps.emplace_back(map); }
};

/// Extents of axes by name.
using AxisExtents = std::map<std::string, Index>;

/// The arrays of a call that random numbers cannot stand in for, and the extents of all others.
struct UsualCall {
  AxisExtents extents;
  std::map<std::string, Tensor> arrays = {};
  std::map<std::string, std::string> options =
      {};  // options that say how the other arrays are read
};

/// A call, an output or gradients, whose type the operation knows.
using AnyValue = std::shared_ptr<void>;

/// Rows are written in operations/*/spec.h and completed by describe() of fields.h.
struct Operation {
  std::string_view name;        // of its function
  std::string_view alias = {};  // a shorter name, for messages and keys; absent: name
  std::string_view summary = {};
  std::span<const Field> fields = {};  // arrays in the order of in_specs
  std::span<const ResultField> outputs = {}, gradients = {};
  std::string_view cotangents = "out";  // the outputs whose gradients flow in
  /// Another form of the call, under the same name: used when an array is given that it alone has.
  const Operation* other_form = nullptr;

  // Sharded form: axes that it splits; axes that the operation splits itself, by a ring of the
  // devices along them; how many in_specs are needed; axes of the array that is updated.
  std::string_view splittable = "B Hq Hkv";
  std::string_view collective = {};
  std::size_t least_specs = 3;
  std::string_view updated_axes = {};

  // The typed half, made by describe().
  const void* (*empty_call)() = nullptr;
  AnyValue (*copy_call)(const void* call) = nullptr;
  AnyValue (*copy_output)(const void* output) = nullptr;
  AnyValue (*forward)(const void* call) = nullptr;
  AnyValue (*backward)(const void* call, const void* output, const Cotangents& d) = nullptr;
  Context& (*context)(void* call) = nullptr;
  Backend backend_of(const void* call) const {
    return context(const_cast<void*>(call)).backend;  // NOLINT: only read
  }
  /// What users call the operation with, at these extents: B sequences of T (or S) tokens, or M
  /// rows. Null where random numbers do for every array.
  UsualCall (*usual_call)(AxisExtents extents) = nullptr;
  /// Puts arrays under one name each and makes those that follow from other arguments.
  void (*complete)(void* call, OwnedArrays& owned) = nullptr;
  /// Throws Error(kInvalidArgument) for a split that the operation cannot do.
  void (*check_sharding)(const void* call, const ShardPlan& plan) = nullptr;
  /// Changes what depends on the position of a shard in the whole.
  void (*localise)(void* call, const Shard& shard, const ShardPlan& plan,
                   OwnedArrays& owned) = nullptr;

  bool takes_mask() const;  // a lazy mask
  /// A listed argument, an array or an option, by either of its names; null when there is none.
  const Field* find(std::string_view argument, bool is_array) const;
  bool has(std::string_view argument) const {
    return find(argument, true) || find(argument, false);
  }
  /// Whether its arrays have heads before time: [B,H,T,D].
  bool heads_first() const { return fields.front().axes.starts_with("B H"); }
  bool has_gradients() const { return backward != nullptr; }
};

/// All of them, in the order of listings.
std::span<const Operation* const> operations();
/// By its name or its alias; null when there is none.
const Operation* find_operation(std::string_view name);

}  // namespace maskctl::attention
