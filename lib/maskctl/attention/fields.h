// Writing the rows of operations, and reading members of calls through them.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>

#include "maskctl/attention/operation.h"

namespace maskctl::attention {

/// Inputs and options of one call.
template <class I, class O>
struct CallOf {
  using Inputs = I;
  using Options = O;
  Inputs in = {};
  Options options = {};
};

template <class Class, class Member>
Class class_of(Member Class::*);

/// The member at the end of a path of members.
template <auto first, auto... rest, class Object>
auto& member_of(Object& object) {
  if constexpr (sizeof...(rest) == 0) {
    return object.*first;
  } else {
    return member_of<rest...>(object.*first);
  }
}
/// member_of() in an object of the class that `first` is a member of.
template <auto first, auto... rest>
auto& member_at(void* object) {
  return member_of<first, rest...>(*static_cast<decltype(class_of(first))*>(object));
}

/// The member at the end of a path that starts at the inputs or at the options of a call.
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

/// A row that has another name too.
constexpr Field with_alias(std::string_view name, Field row) {
  row.alias = name;
  return row;
}
/// A row that changes nothing without what it needs.
constexpr Field needing(std::string_view needs, Field row) {
  row.needs = needs;
  return row;
}
/// A row that may change nothing beside that: see Field::idle.
constexpr Field idle_where(std::string_view (*idle)(const void* call), Field row) {
  row.idle = idle;
  return row;
}

// Rows; `path` leads from the inputs or the options of a Call to the member.

template <class Call, auto... path>
constexpr Field array(std::string_view name, std::string_view axes, unsigned roles = 0) {
  return {
      .name = name, .is_array = true, .axes = axes, .roles = roles, .slot = slot_at<Call, path...>};
}
/// `axes_in`: the axes in a call.
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
/// A number that changes speed and rounding only.
template <class Call, auto... path>
constexpr Field hint(std::string_view name, std::string_view help = "a hint; 0") {
  return {.name = name, .help = help, .roles = kHint, .slot = slot_at<Call, path...>};
}
/// What callers in C++ alone can give.
template <class Call, auto... path>
constexpr Field unlisted(std::string_view name, unsigned roles = 0) {
  return {.name = name, .roles = roles | kUnlisted, .slot = slot_at<Call, path...>};
}

/// A row of a shared list, under another name or with other axes, help or needs where given.
struct Pick {
  consteval Pick(const char* row) : Pick(row, row) {}  // NOLINT: most rows are taken as they are
  consteval Pick(const char* row, const char* other, const char* words = "",
                 const char* conditions = "")
      : name(row), as(other), text(words), needs(conditions) {}
  std::string_view name, as, text, needs;
};

/// The rows of a shared list that an operation has, in this order. Does not compile for a name that
/// the list lacks.
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

/// A row for an array of a result.
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
/// The field of a result that is one array.
constexpr ResultField whole_result(std::string_view name, std::string_view axes = {}) {
  return {name, axes, [](void* object) { return static_cast<Tensor*>(object); }};
}

/// Stands for the gradients of an operation without a backward pass.
struct NoGradients {};

/// The types of an operation, but for that of its gradients.
template <class I, class O, class R>
struct CallTypes {
  using Inputs = I;
  using Options = O;
  using Output = R;
  using Call = CallOf<I, O>;
};
/// CallTypes of a function, and the arrays of its inputs as the function takes them.
template <class Function>
struct TypesOf;
template <class R, class I, class O>
struct TypesOf<R (*)(const I&, const O&)> : CallTypes<I, O, R> {
  static auto arrays(const I& in) { return std::tie(in); }
};

template <class R, class... Arguments>
R returned_by(R (*)(Arguments...));
NoGradients returned_by(std::nullptr_t);

/// What every Op has, from the function of an operation and that of its gradients, which is null
/// where there are none.
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

/// Completes a call that has init_bias instead of a bias.
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

/// The functions of an operation that every Op has.
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

/// What some operations do beside: see Operation.
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

/// Completes a row with the typed half of Op, a struct of static members:
///   Inputs, Options, Output, Gradients            types; Call = CallOf<Inputs, Options>
///   forward(inputs, options)
///   backward(inputs, output, cotangents, options) unless Gradients are NoGradients
///   kFields, kRow                                 its arguments, and the plain half of the row
///   complete, check_sharding, localise, usual_call    as in Operation; absent: nothing to do
template <class Op>
consteval Operation describe(Operation row) {
  if (row.alias.empty()) row.alias = row.name;
  row.fields = Op::kFields;
  add_passes<Op>(row);
  add_hooks<Op>(row);
  return row;
}

/// The row of an operation, complete.
template <class Op>
inline constexpr Operation kOperation = describe<Op>(Op::kRow);

/// Calls f(member) with the member of a field, in its own type.
template <class F>
decltype(auto) visit_member(const Field& field, const void* call, F&& f) {
  return std::visit([&f](auto* member) -> decltype(auto) { return f(*member); },
                    field.slot(const_cast<void*>(call)));
}

/// The array of a field; null for other fields and arrays that are not given.
const Tensor* array_of(const Field& field, const void* call);
/// Calls f(field, array) for each array that is given.
template <class F>
void for_each_array(const Operation& operation, const void* call, F&& f) {
  for (const Field& field : operation.fields) {
    if (const Tensor* array = array_of(field, call)) f(field, *array);
  }
}
/// An array of a result that is present.
struct ResultArray {
  std::string_view name, axes;
  Tensor* tensor;
};
std::vector<ResultArray> arrays_of(std::span<const ResultField> fields, void* result);

/// The axes of a field, in a call where they depend on it.
std::string_view axes_of(const Field& field, const void* call);

/// Sets an option from text: "true", "0.5", "3+1", a word of an enumeration; "none" leaves it as it
/// is. Throws Error(kInvalidArgument) that starts with its name.
void read_text(const Field& field, std::string_view text, void* call);

/// "query=f32[1,128,8,64] causal=true ...": shapes and dtypes of arrays, and options that are
/// neither hints nor as in a call of nothing. Contents of arrays do not take part, so that calls
/// that cost the same share a text.
std::string call_key(const Operation& operation, const void* call);

}  // namespace maskctl::attention
