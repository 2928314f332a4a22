// Helpers that declare the fields of operations, and that read members of a call through them.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>

#include "maskctl/attention/calls/operation.h"

namespace maskctl::attention {

/// The inputs and options of one call.
template <class I, class O>
struct CallOf {
  using Inputs = I;
  using Options = O;
  Inputs in = {};
  Options options = {};
};

template <class Class, class Member>
Class class_of(Member Class::*);

/// The member at the end of a path of member pointers, object.*first.*second and so on.
template <auto first, auto... rest, class Object>
auto& member_of(Object& object) {
  if constexpr (sizeof...(rest) == 0) {
    return object.*first;
  } else {
    return member_of<rest...>(object.*first);
  }
}
/// member_of() for an untyped object; `first` tells its class.
template <auto first, auto... rest>
auto& member_at(void* object) {
  return member_of<first, rest...>(*static_cast<decltype(class_of(first))*>(object));
}

/// The address of the member of a call at the end of a path, which begins in Inputs or Options.
template <class Call, auto first, auto... rest>
Slot slot_at(void* call) {
  constexpr bool of_inputs = std::is_base_of_v<decltype(class_of(first)), typename Call::Inputs>;
  auto& [in, options] = *static_cast<Call*>(call);
  auto* const member = [&] {
    if constexpr (of_inputs) {
      return &member_of<first, rest...>(in);
    } else {
      return &member_of<first, rest...>(options);
    }
  }();
  if constexpr (std::is_enum_v<std::remove_pointer_t<decltype(member)>>) {
    static_assert(sizeof(*member) == 1);
    return reinterpret_cast<std::uint8_t*>(member);
  } else {
    return member;
  }
}

/// Returns the description of an argument, with a second name added.
constexpr Field with_alias(std::string_view name, Field row) {
  row.alias = name;
  return row;
}
/// Returns the description of an argument, with a condition added that must hold for the argument
/// to have an effect: see Field::needs.
constexpr Field needing(std::string_view needs, Field row) {
  row.needs = needs;
  return row;
}
/// Returns the description of an argument, with a function added that tells in which calls the
/// argument has no effect: see Field::idle.
constexpr Field idle_where(std::string_view (*idle)(const void* call), Field row) {
  row.idle = idle;
  return row;
}

// Each of these makes a Field; `path` leads from Call::Inputs or Call::Options to the member.

template <class Call, auto... path>
constexpr Field array(std::string_view name, std::string_view axes, unsigned roles = 0) {
  return {
      .name = name, .is_array = true, .axes = axes, .roles = roles, .slot = slot_at<Call, path...>};
}
/// An array whose axes depend on the call: `axes_in` returns them.
template <auto axes_in, class Call, auto... path>
constexpr Field array_by(std::string_view name, std::string_view axes, unsigned roles = 0) {
  Field row = array<Call, path...>(name, axes, roles);
  row.axes_in = axes_in;
  return row;
}
template <class Call, auto... path>
constexpr Field option(std::string_view name, std::string_view help, unsigned roles = 0) {
  return {.name = name, .help = help, .roles = roles, .slot = slot_at<Call, path...>};
}
template <class Call, auto... path>
constexpr Field choice(std::string_view name, std::span<const std::string_view> words,
                       std::string_view help, unsigned roles = 0) {
  return {
      .name = name, .help = help, .roles = roles, .slot = slot_at<Call, path...>, .words = words};
}
/// Describes an option that is a number and affects only speed and rounding.
template <class Call, auto... path>
constexpr Field hint(std::string_view name, std::string_view help = "a hint; 0") {
  return {.name = name, .help = help, .roles = kHint, .slot = slot_at<Call, path...>};
}
/// Describes an argument that only C++ callers can set.
template <class Call, auto... path>
constexpr Field unlisted(std::string_view name, unsigned roles = 0) {
  return {.name = name, .roles = roles | kUnlisted, .slot = slot_at<Call, path...>};
}

/// A field chosen from a shared list, optionally with another name, axes, help or needs.
struct Pick {
  consteval Pick(const char* row) : Pick(row, row) {}  // NOLINT: most fields keep their name
  consteval Pick(const char* row, const char* other, const char* words = "",
                 const char* conditions = "")
      : name(row), as(other), text(words), needs(conditions) {}
  std::string_view name, as, text, needs;
};

/// The picked fields of a shared list, in the order of `picks`. A name that is not in the list is a
/// compile error.
template <std::size_t all, std::size_t n>
consteval std::array<Field, n> pick(const std::array<Field, all>& list, const Pick (&picks)[n]) {
  std::array<Field, n> out;
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t at = 0;
    while (list[at].name != picks[i].name) ++at;
    out[i] = list[at];
    out[i].name = picks[i].as;
    if (!picks[i].text.empty()) (out[i].is_array ? out[i].axes : out[i].help) = picks[i].text;
    if (!picks[i].needs.empty()) out[i].needs = picks[i].needs;
  }
  return out;
}

template <std::size_t... n>
consteval std::array<Field, (n + ...)> join(const std::array<Field, n>&... lists) {
  std::array<Field, (n + ...)> out;
  std::size_t at = 0;
  const auto add = [&](const auto& list) {
    for (const Field& field : list) out[at++] = field;
  };
  (add(lists), ...);
  return out;
}

/// The description of an array inside a result struct.
template <auto... path>
constexpr ResultField result(std::string_view name, std::string_view axes = {}) {
  return {name, axes, [](void* object) -> Tensor* {
            auto& member = member_at<path...>(object);
            if constexpr (requires { member.has_value(); }) {
              return member ? &*member : nullptr;
            } else {
              return &member;
            }
          }};
}
/// The description of a result that is itself one array.
constexpr ResultField whole_result(std::string_view name, std::string_view axes = {}) {
  return {name, axes, [](void* object) { return static_cast<Tensor*>(object); }};
}

/// The gradient type of an operation that has no backward pass.
struct NoGradients {};

/// The types of an operation, except that of its gradients.
template <class I, class O, class R>
struct CallTypes {
  using Inputs = I;
  using Options = O;
  using Output = R;
  using Call = CallOf<I, O>;
};
/// Deduces CallTypes from the signature of a function; arrays() returns the inputs as a tuple of
/// its leading arguments.
template <class Function>
struct TypesOf;
template <class R, class I, class O>
struct TypesOf<R (*)(const I&, const O&)> : CallTypes<I, O, R> {
  static auto arrays(const I& in) { return std::tie(in); }
};

template <class R, class... Arguments>
R returned_by(R (*)(Arguments...));
NoGradients returned_by(std::nullptr_t);

/// The members that every Op has, made from the function of an operation and the function of its
/// gradients (nullptr if it has none).
template <auto function, auto gradients>
struct FunctionOp : TypesOf<decltype(function)> {
  using Types = TypesOf<decltype(function)>;
  using typename Types::Inputs, typename Types::Options, typename Types::Output;
  using Gradients = decltype(returned_by(gradients));

  static Output forward(const Inputs& in, const Options& o) {
    return std::apply([&o](const auto&... arrays) { return function(arrays..., o); },
                      Types::arrays(in));
  }
  static Gradients backward(const Inputs& in, const Output& out, const Cotangents& d,
                            const Options& o) {
    const auto run = [&](const auto&... arrays) {
      if constexpr (requires { gradients(arrays..., out, *d.out, o, d.lse); }) {
        return gradients(arrays..., out, *d.out, o, d.lse);
      } else if constexpr (requires { gradients(arrays..., out, *d.out, o); }) {
        return gradients(arrays..., out, *d.out, o);
      } else if constexpr (requires { gradients(arrays..., *d.out, o, d.final_state); }) {
        return gradients(arrays..., *d.out, o, d.final_state);
      } else {
        return gradients(arrays..., *d.out, o);
      }
    };
    return std::apply(run, Types::arrays(in));
  }
};

/// If the options have init_bias instead of a bias, makes the bias by calling it.
template <class Options>
void make_bias(Options& o, OwnedArrays& owned) {
  if (o.bias || !o.init_bias) return;
  o.bias = owned.keep(o.init_bias());
  o.init_bias = nullptr;
}

template <class Options>
Context& context_of(Options& options) {
  if constexpr (requires { options.softmax; }) {
    return options.softmax.context;
  } else {
    return options.context;
  }
}

/// Fills in the functions that every operation has.
template <class Op>
consteval void add_passes(Operation& row) {
  using Call = typename Op::Call;
  using Output = typename Op::Output;
  row.empty_call = []() -> const void* {
    static const Call empty;
    return &empty;
  };
  row.copy_call = [](const void* call) -> AnyValue {
    return std::make_shared<Call>(*static_cast<const Call*>(call));
  };
  row.copy_output = [](const void* output) -> AnyValue {
    return std::make_shared<Output>(*static_cast<const Output*>(output));
  };
  row.context = [](void* call) -> Context& {
    return context_of(static_cast<Call*>(call)->options);
  };
  row.forward = [](const void* call) -> AnyValue {
    const auto& [in, options] = *static_cast<const Call*>(call);
    return std::make_shared<Output>(Op::forward(in, options));
  };
  using Gradients = typename Op::Gradients;
  if constexpr (!std::is_same_v<Gradients, NoGradients>) {
    row.backward = [](const void* call, const void* output, const Cotangents& d) -> AnyValue {
      const auto& [in, options] = *static_cast<const Call*>(call);
      return std::make_shared<Gradients>(
          Op::backward(in, *static_cast<const Output*>(output), d, options));
    };
  }
}

/// Fills in the optional functions that Op defines: usual_call, complete, check_sharding, localise.
template <class Op>
consteval void add_hooks(Operation& row) {
  using Call = typename Op::Call;
  if constexpr (requires(AxisExtents extents) { Op::usual_call(extents); }) {
    row.usual_call = Op::usual_call;
  }
  if constexpr (requires(Call & c, OwnedArrays & o) { Op::complete(c.in, c.options, o); }) {
    row.complete = [](void* call, OwnedArrays& owned) {
      auto& [in, options] = *static_cast<Call*>(call);
      Op::complete(in, options, owned);
    };
  }
  if constexpr (requires(const Call& c, const ShardPlan& p) { Op::check_sharding(c.options, p); }) {
    row.check_sharding = [](const void* call, const ShardPlan& plan) {
      Op::check_sharding(static_cast<const Call*>(call)->options, plan);
    };
  }
  if constexpr (requires(Call & c, const Shard& s, const ShardPlan& p, OwnedArrays& o) {
                  Op::localise(c.in, c.options, s, p, o);
                }) {
    row.localise = [](void* call, const Shard& shard, const ShardPlan& plan, OwnedArrays& owned) {
      auto& [in, options] = *static_cast<Call*>(call);
      Op::localise(in, options, shard, plan, owned);
    };
  }
}

/// Completes `row` with what Op defines, a struct of static members:
///   Inputs, Options, Output, Gradients            types; Call = CallOf<Inputs, Options>
///   forward(inputs, options)
///   backward(inputs, output, cotangents, options) unless Gradients are NoGradients
///   kFields, kRow                                 its arguments, and the rest of the row
///   complete, check_sharding, localise, usual_call    as in Operation; absent: nothing to do
template <class Op>
consteval Operation describe(Operation row) {
  if (row.alias.empty()) row.alias = row.name;
  row.fields = Op::kFields;
  add_passes<Op>(row);
  add_hooks<Op>(row);
  return row;
}

/// The complete Operation of Op.
template <class Op>
inline constexpr Operation kOperation = describe<Op>(Op::kRow);

/// Calls f(member) with the member of `call` that `field` describes, in its own type.
template <class F>
decltype(auto) visit_member(const Field& field, const void* call, F&& f) {
  return std::visit([&f](auto* member) -> decltype(auto) { return f(*member); },
                    field.slot(const_cast<void*>(call)));
}

/// The array of a field; null if the field is no array or the array is not given.
const Tensor* array_of(const Field& field, const void* call);
/// Calls f(field, array) for each array that is given.
template <class F>
void for_each_array(const Operation& operation, const void* call, F&& f) {
  for (const Field& field : operation.fields) {
    if (const Tensor* array = array_of(field, call)) f(field, *array);
  }
}
/// An array of a result, with its name and axes; `tensor` points to the array.
struct ResultArray {
  std::string_view name, axes;
  Tensor* tensor;
};
std::vector<ResultArray> arrays_of(std::span<const ResultField> fields, void* result);

/// The axes of a field; `call` decides where they depend on it.
std::string_view axes_of(const Field& field, const void* call);

/// Sets an option from text: "true", "0.5", "3+1" or a word of an enumeration; "none" leaves it
/// unchanged. Throws Error(kInvalidArgument) whose message starts with the name of the field.
void read_text(const Field& field, std::string_view text, void* call);

/// The key of a call in config caches: "query=f32[1,128,8,64] causal=true ...". Contains the shapes
/// and dtypes of arrays and the options that differ from their defaults, without hints. Contents of
/// arrays are left out, so that calls of equal cost share a key.
std::string call_key(const Operation& operation, const void* call);

}  // namespace maskctl::attention
