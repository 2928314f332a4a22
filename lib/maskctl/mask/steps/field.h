// The arguments of rules as data: how each is written, and which member of the rule holds it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "maskctl/mask/block_size.h"
#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

enum class FieldType : std::uint8_t {
  kInteger,          // 12, -3
  kSide,             // a number, or "none" = unbounded
  kReal,             // 0.25
  kSeed,             // 0 .. 2^64 - 1
  kChoice,           // one of Field::choices
  kLengths,          // lengths: 3+5
  kRanges,           // 0-3+7, or 0:4+7
  kRange,            // 0-127, which may be empty, as 4:4
  kBlockSize,        // 64x128, or 64 = 64x64
  kSource,           // a SOURCE read as an array
  kIntegerOrSource,  // a number when it is one, else a list 0+3 or a SOURCE, one per batch
  kSideOrSource,     // a number; or one per batch, as a list 0+3 or a SOURCE
  kMaskSource,       // a SOURCE read as a mask
  kPadId,            // a number; if absent, BindContext::pad_id
};

/// The largest integer that an argument may have: the limit of mask extents (plane.h).
inline constexpr Index kMaxArgument = (Index{1} << 31) - 1;
inline constexpr Index kAnyNumber = -kMaxArgument;

struct NamedMask {
  Mask mask;
  std::string text;
};

/// The value of one argument; monostate if absent. A choice is stored as its index in
/// Field::choices.
using FieldValue = std::variant<std::monostate, Index, double, std::uint64_t, std::vector<Index>,
                                std::vector<Range>, Range, BlockSize, NamedArray, NamedMask>;

/// One argument of a step. Groups 1, 2, ... are alternatives: a step uses exactly one of them, with
/// all its required arguments. Arguments of group 0 go with any group, but kPadId only with
/// arguments that read a SOURCE. A positional argument is written without "KEY=", so its `name`
/// appears only in messages.
struct Field {
  std::string_view name;
  FieldType type = FieldType::kInteger;
  std::string_view help;
  bool required = false;
  std::string_view fallback = {};  // the default as text; empty means absent
  Index min = 0;                   // minimum of an integer, and of each integer in a list
  Index max = kMaxArgument;
  std::string_view choices = {};  // "a|b|c"
  int group = 0;
  bool positional = false;
  std::string_view stem = {};  // base name under which its arrays are written: ids1, ids2
  /// The value in a step of this rule; monostate if absent or given by another argument.
  FieldValue (*get)(const Step& step) = nullptr;
  void (*set)(Step& step, FieldValue value) = nullptr;
};

namespace fields {

inline FieldValue read(Index value) { return value; }
inline FieldValue read(double value) { return value; }
inline FieldValue read(std::uint64_t value) { return value; }
inline FieldValue read(Align value) {
  return value == Align::kUnset ? FieldValue() : FieldValue(static_cast<Index>(value) - 1);
}
template <typename T>
requires std::is_enum_v<T> || std::is_same_v<T, bool> FieldValue read(T value) {
  return static_cast<Index>(value);
}
template <typename T>
FieldValue read(const std::optional<T>& value) {
  return value ? FieldValue(*value) : FieldValue();
}
template <typename T>
FieldValue read(const std::vector<T>& values) {
  return values.empty() ? FieldValue() : FieldValue(values);
}
inline FieldValue read(const NamedArray& value) {
  return value.empty() && value.text.empty() ? FieldValue() : FieldValue(value);
}

/// An int64 array [n] with the text that lists its numbers, such as "3+5".
NamedArray numbers(const std::vector<Index>& values);

template <typename T>
void write(T& member, FieldValue value) {
  if constexpr (std::is_same_v<T, Align>) {
    const Index* given = std::get_if<Index>(&value);
    member = given ? static_cast<Align>(*given + 1) : Align::kUnset;
  } else if constexpr (std::is_enum_v<T> || std::is_same_v<T, bool>) {
    member = static_cast<T>(std::get<Index>(value));
  } else {
    member = std::get<T>(std::move(value));
  }
}
template <typename T>
void write(std::optional<T>& member, FieldValue value) {
  if (std::holds_alternative<std::monostate>(value)) {
    member.reset();
  } else {
    member = std::get<T>(std::move(value));
  }
}
inline void write(NamedArray& member, FieldValue value) {
  if (const Index* number = std::get_if<Index>(&value)) {
    member = numbers({*number});
  } else if (const auto* list = std::get_if<std::vector<Index>>(&value)) {
    member = numbers(*list);
  } else {
    member = std::get<NamedArray>(std::move(value));
  }
}

template <auto Member>
struct ClassOf;
template <typename T, typename Class, T Class::*Member>
struct ClassOf<Member> {
  using Type = Class;
};

template <auto Member, typename Rule = typename ClassOf<Member>::Type>
struct Access {
  static FieldValue get(const Step& step) { return read(step.as<Rule>().*Member); }
  static void set(Step& step, FieldValue value) {
    write(step.as<Rule>().*Member, std::move(value));
  }
};

/// An argument that is stored in one member of the rule, or of a class from which it derives.
template <auto Member, typename Rule = typename ClassOf<Member>::Type>
constexpr Field of(Field field) {
  field.get = Access<Member, Rule>::get;
  field.set = Access<Member, Rule>::set;
  return field;
}

template <auto Member>
constexpr Field align(std::string_view help) {
  return of<Member>({.name = "align",
                     .type = FieldType::kChoice,
                     .help = help,
                     .choices = "top-left|bottom-right"});
}

/// Access to an argument that is stored in one of two members: as one number, or as one number per
/// batch.
template <typename Rule, Index Rule::*Number, NamedArray Rule::*Each>
struct NumberOrEach {
  static FieldValue get(const Step& step) {
    const Rule& rule = step.as<Rule>();
    return (rule.*Each).empty() ? FieldValue(rule.*Number) : FieldValue(rule.*Each);
  }
  static void set(Step& step, FieldValue value) {
    Rule& rule = step.as<Rule>();
    const Index* number = std::get_if<Index>(&value);
    rule.*Number = number ? *number : 0;
    rule.*Each = number ? NamedArray() : std::get<NamedArray>(std::move(value));
  }
};
template <typename Rule, Index Rule::*Number, NamedArray Rule::*Each>
constexpr Field number_or_each(Field field) {
  field.type = FieldType::kIntegerOrSource;
  field.get = NumberOrEach<Rule, Number, Each>::get;
  field.set = NumberOrEach<Rule, Number, Each>::set;
  return field;
}

/// The positional argument SRC: one SOURCE for both queries and keys (instead of q= and kv=).
template <typename Rule>
constexpr Field both_sides(std::string_view stem, std::string_view help) {
  return {.name = "SRC",
          .type = FieldType::kSource,
          .help = help,
          .required = true,
          .group = 1,
          .positional = true,
          .stem = stem,
          .get =
              [](const Step& step) {
                const Rule* rule = step.get_if<Rule>();
                return rule && rule->shared ? read(rule->q) : FieldValue();
              },
          .set =
              [](Step& step, FieldValue value) {
                Rule& rule = step.as<Rule>();
                rule.shared = true;
                write(rule.q, std::move(value));
              }};
}
template <typename Rule, NamedArray Rule::*Side>
constexpr Field one_side(std::string_view name, std::string_view stem, std::string_view help,
                         int group) {
  return {.name = name,
          .type = FieldType::kSource,
          .help = help,
          .required = true,
          .group = group,
          .stem = stem,
          .get =
              [](const Step& step) {
                const Rule* rule = step.get_if<Rule>();
                return rule && !rule->shared ? read(rule->*Side) : FieldValue();
              },
          .set =
              [](Step& step, FieldValue value) {
                Rule& rule = step.as<Rule>();
                rule.shared = false;
                write(rule.*Side, std::move(value));
              }};
}

/// The argument pad-id=: the id of tokens in no document.
template <typename Rule>
constexpr Field pad_id() {
  return {.name = "pad-id",
          .type = FieldType::kPadId,
          .help = "the id of tokens in no document (-1, or that of all ids)",
          .min = kAnyNumber,
          .get =
              [](const Step& step) {
                const Rule* rule = step.get_if<Rule>();
                return rule && rule->pad_id != -1 ? FieldValue(Index{rule->pad_id}) : FieldValue();
              },
          .set =
              [](Step& step, FieldValue value) {
                step.as<Rule>().pad_id = static_cast<std::int32_t>(std::get<Index>(value));
              }};
}

}  // namespace fields

/// The shortest text that reads back as the same number.
std::string real_text(double value);
/// Lengths as text: "3+5"; eight equal ones or more in a row are said once, as in "3+1*196".
std::string list_text(std::span<const Index> values);
/// The value as it is written after "KEY="; nothing for an absent value. An array without a name is
/// written as its numbers, and gives nothing if the argument needs a SOURCE.
std::optional<std::string> value_text(const Field& field, const FieldValue& value);

/// Whether two values have the same contents: compares the numbers of arrays and the cells of
/// masks, not their names; true for values of all other types.
bool same_content(const FieldValue& a, const FieldValue& b);

/// True for arguments that take one number, or a list of one per batch entry.
bool takes_list(const Field& field);
/// True for digits, '+' and '*' only: a list of lengths rather than a file.
bool is_list_text(std::string_view text);
/// True if the array is written as its numbers, not as the name of a SOURCE.
inline bool is_list(const NamedArray& array) {
  return array.text.empty() || is_list_text(array.text);
}

}  // namespace maskctl
