#include "maskctl/attention/calls/effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "maskctl/attention/calls/fields.h"
#include "maskctl/base/text.h"

namespace maskctl::attention {
namespace {

constexpr std::string_view kMesh = "mesh";

template <class T>
bool is_a(const Operation& form, const Field& field) {
  return visit_member(field, form.empty_call(), [](const auto& member) {
    return std::is_same_v<std::decay_t<decltype(member)>, T>;
  });
}
bool is_mask(const Field& field) { return !field.listed(); }

/// Whether a member of a call differs from its default.
template <class T>
bool is_set(const T& member, const T& usual) {
  if constexpr (requires { member.has_value(); }) {
    return member.has_value();
  } else if constexpr (requires { member == nullptr; }) {
    return member != nullptr;
  } else {
    return member != usual;
  }
}

/// Calls f(member of the call, default of that member) for the argument that `field` describes.
template <class F>
bool with_usual(const Operation& form, const Field& field, const void* call, F&& f) {
  return visit_member(field, call, [&](const auto& member) {
    using Member = std::decay_t<decltype(member)>;
    void* const usual = const_cast<void*>(form.empty_call());  // NOLINT: only read here
    return f(member, *std::get<Member*>(field.slot(usual)));
  });
}

/// Whether the named argument of a condition holds: a boolean if it is true, any other argument if
/// it differs from its default.
bool holds(const Operation& form, const Field& field, const void* call) {
  return with_usual(form, field, call, [](const auto& member, const auto& usual) {
    if constexpr (std::is_same_v<std::decay_t<decltype(member)>, bool>) {
      return member;
    } else {
      return is_set(member, usual);
    }
  });
}

/// A name in a condition, such as "causal" in "causal|!g_cmp": an argument that must hold (or, with
/// wanted=false, must not). A null field stands for the name "mesh".
struct Term {
  const Field* field = nullptr;
  bool wanted = true;
  bool is_flag = false, is_lazy_mask = false;
};
/// A disjunction: at least one of the terms must hold.
using Condition = std::vector<Term>;

/// Parses one condition, as in "causal|!g_cmp". Empty if the condition always holds for this
/// operation.
Condition condition_of(const Operation& form, std::string_view text) {
  Condition condition;
  for (std::string_view name : split(text, '|')) {
    const bool wanted = !name.starts_with('!');
    if (!wanted) name.remove_prefix(1);
    const auto field = std::ranges::find(form.fields, name, &Field::name);
    const bool known = name == kMesh || field != form.fields.end();
    if (!known && !wanted) return {};  // !NAME always holds if the operation has no NAME
    if (name == kMesh) {
      condition.push_back({nullptr, wanted});
    } else if (known) {
      condition.push_back(
          {&*field, wanted, is_a<bool>(form, *field), is_a<StaticMask>(form, *field)});
    }
  }
  return condition;
}

std::vector<Condition> conditions_of(const Operation& form, const Field& field) {
  std::vector<Condition> conditions;
  if (field.needs.empty()) return conditions;
  for (const std::string_view text : split(field.needs, ' ')) {
    Condition condition = condition_of(form, text);
    if (!condition.empty()) conditions.push_back(std::move(condition));
  }
  return conditions;
}

// Text of conditions, for messages.

/// The term as a setting: "causal=true", "mode=per_chunk", "sliding_window", "a mask".
std::string setting(const Term& term) {
  if (!term.field) return "a mesh";
  const Field& field = *term.field;
  if (is_mask(field)) return term.is_lazy_mask ? "a lazy mask" : "a mask";
  if (term.is_flag) return fmt::format("{}=true", field.name);
  return field.words.empty() ? std::string(field.name)
                             : fmt::format("{}={}", field.name, field.words.back());
}
/// The term as a caller writes it: like setting(), but with a placeholder for a value that is not
/// fixed, as in "sliding_window=VALUE" or "g_cmp=SOURCE".
std::string to_give(const Term& term) {
  const std::string text = setting(term);
  const bool is_written = text.find_first_of("= ") != text.npos;
  return is_written ? text : fmt::format("{}={}", text, term.field->is_array ? "SOURCE" : "VALUE");
}

std::vector<std::string> texts_of(const Condition& condition, bool wanted,
                                  std::string (*text)(const Term&)) {
  std::vector<std::string> texts;
  for (const Term& term : condition) {
    if (term.wanted == wanted) texts.push_back(text(term));
  }
  return texts;
}

/// The boolean that must be false for a condition to hold; null for other conditions.
const Field* off_switch(const Condition& condition) {
  const bool is_one = condition.size() == 1 && !condition[0].wanted;
  return is_one && condition[0].is_flag ? condition[0].field : nullptr;
}

/// The message for a condition that fails: "no effect with chunk_size; leave one of them out".
std::string complaint(const Condition& condition) {
  const auto in_the_way = texts_of(condition, false, setting);
  if (in_the_way.empty()) {
    return fmt::format("no effect without {}; give {}, or leave it out",
                       joined(texts_of(condition, true, setting), " or "),
                       joined(texts_of(condition, true, to_give), " or "));
  }
  const Field* const off = off_switch(condition);
  return fmt::format("no effect with {}; {}", joined(in_the_way, " and "),
                     off ? fmt::format("give {}=false", off->name) : "leave one of them out");
}

std::string needs_text(const Condition& condition) {
  const auto wanted = texts_of(condition, true, setting);
  const auto in_the_way = texts_of(condition, false, setting);
  if (const Field* const off = off_switch(condition))
    return fmt::format("needs {}=false", off->name);
  if (in_the_way.empty()) return fmt::format("needs {}", joined(wanted, " or "));
  return fmt::format("no effect with {}{}{}", joined(in_the_way, " and "),
                     wanted.empty() ? "" : " unless ", joined(wanted, " or "));
}

/// Why an argument has no effect in a call; empty if it has one.
std::string why_idle(const Operation& form, const Field& field, const void* call, bool over_mesh) {
  const auto is_met = [&](const Term& term) {
    return (term.field ? holds(form, *term.field, call) : over_mesh) == term.wanted;
  };
  for (const Condition& condition : conditions_of(form, field)) {
    if (!std::ranges::any_of(condition, is_met)) return complaint(condition);
  }
  const std::string_view why = field.idle ? field.idle(call) : "";
  return why.empty() ? "" : fmt::format("no effect: {}", why);
}

}  // namespace

bool asks(const Operation& form, const Field& field, const void* call) {
  return with_usual(form, field, call, [](const auto& member, const auto& usual) {
    using Member = std::decay_t<decltype(member)>;
    constexpr bool is_size = std::is_same_v<Member, Index> || std::is_same_v<Member, double>;
    if constexpr (is_size) {
      return member != usual || usual != 0;
    } else {
      return is_set(member, usual);
    }
  });
}

std::vector<IdleArgument> idle_arguments(const Operation& form,
                                         const std::vector<const Field*>& given, const void* call,
                                         bool over_mesh) {
  std::vector<IdleArgument> idle;
  for (const Field* const field : given) {
    if (!asks(form, *field, call)) continue;
    const std::string why = why_idle(form, *field, call, over_mesh);
    if (why.empty()) continue;
    idle.push_back({field, fmt::format("{}: {}", is_mask(*field) ? "a mask" : field->name, why)});
  }
  return idle;
}

std::string needs_text(const Operation& form, const Field& field) {
  std::vector<std::string> texts;
  for (const Condition& condition : conditions_of(form, field)) {
    texts.push_back(needs_text(condition));
  }
  return joined(texts, "; ");
}

}  // namespace maskctl::attention
