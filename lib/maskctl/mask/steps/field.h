// The arguments of rules as data: how each is written, and where in the rule its value is.
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
  kLengths,          // 3+5
  kRanges,           // 0-3+7, both ends included
  kSlice,            // 0:128 half open, or 5 = 5:6
  kBlockSize,        // 64x128, or 64 = 64x64
  kSource,           // a SOURCE read as an array
  kIntegerOrSource,  // a number when it is one, else a list 0+3 or a SOURCE, one per batch
  kSideOrSource,     // as kIntegerOrSource, or "none" = unbounded
  kMaskSource,       // a SOURCE read as a mask
  kPadId,            // a number; if absent, the pad id of all ids
};

/// The largest integer that an argument may have, as extents are at most this (plane.h).
inline constexpr Index kMaxArgument = (Index{1} << 31) - 1;
inline constexpr Index kAnyNumber = -kMaxArgument;

struct NamedMask {
  Mask mask;
  std::string text;
};

/// The value of one argument; nothing where it is absent. A choice is its index.
using FieldValue = std::variant<std::monostate, Index, double, std::uint64_t, std::vector<Index>,
                                std::vector<Range>, Range, BlockSize, NamedArray, NamedMask>;

/// One argument. Arguments of groups 1, 2, ... are alternatives: exactly one group is used, with
/// all its required arguments; arguments of group 0 go with any, a kPadId with those that read a
/// SOURCE. A positional argument is written without a key, and `name` is used only in messages.
struct Field {
  std::string_view name;
  FieldType type = FieldType::kInteger;
  std::string_view help;
  bool required = false;
  std::string_view fallback = {};  // the default as text; empty means absent
  Index min = 0;                   // least value of an integer, and of each integer in a list
  Index max = kMaxArgument;
  std::string_view choices = {};  // "a|b|c"
  int group = 0;
  bool positional = false;
  std::string_view stem = {};  // base name of its arrays where they are written: ids1, ids2
  /// The value in a step of this rule; nothing where it was not given or another argument says it.
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

/// int64 [n], with the text "3+5".
NamedArray numbers(const std::vector<Index>& values);

template <typename T>
void write(T& member, FieldValue value) {
  if constexpr (std::is_same_v<T, Align>) {
    member = static_cast<Align>(std::get<Index>(value) + 1);
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
struct Access;
template <typename Rule, typename T, T Rule::*Member>
struct Access<Member> {
  static FieldValue get(const Step& step) { return read(step.as<Rule>().*Member); }
  static void set(Step& step, FieldValue value) {
    write(step.as<Rule>().*Member, std::move(value));
  }
};

/// An argument that is one member of the rule.
template <auto Member>
constexpr Field of(Field field) {
  field.get = Access<Member>::get;
  field.set = Access<Member>::set;
  return field;
}

template <auto Member>
constexpr Field align(std::string_view help) {
  return of<Member>({.name = "align",
                     .type = FieldType::kChoice,
                     .help = help,
                     .choices = "top-left|bottom-right"});
}

/// A number in one member, or one number per batch in another.
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

/// Arrays of both sides: one SOURCE for both, or q= with kv=.
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

/// The id of tokens in no document.
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
/// "3+5".
std::string list_text(std::span<const Index> values);
/// "0:128", or "5" for one.
std::string slice_text(Range range);
/// The value as it is written after "KEY="; nothing for an absent value. An array without a name
/// gives nothing where a SOURCE is needed, elsewhere its numbers.
std::optional<std::string> value_text(const Field& field, const FieldValue& value);

/// False for arrays and masks that hold different numbers or cells, whatever they are called; true
/// for all other values.
bool same_content(const FieldValue& a, const FieldValue& b);

/// True for digits and '+' only: a list of lengths rather than a file.
bool is_list_text(std::string_view text);
/// True for numbers that are written out rather than named.
inline bool is_list(const NamedArray& array) {
  return array.text.empty() || is_list_text(array.text);
}

}  // namespace maskctl
