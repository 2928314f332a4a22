// Tests that no option is silently ignored: every optional argument, and every pair of them,
// changes a result, is reported to have no effect, or makes the call fail.
#include <map>
#include <optional>
#include <set>

#include "attention/argument_cases.h"
#include "maskctl/attention/calls/bound_call.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/dense.h"
#include "support/catch_compat.h"

namespace effects_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention_test;

/// An argument that a caller may leave out, with a value.
struct Option {
  std::string name;
  Value value;
  Settings also;  // arguments with which the value has an effect
  bool is_mask = false;
};

/// Returns a mask of scattered cells, unlike any that options can make.
Mask scattered() {
  Tensor cells(DType::kBool, {kExtents.at("Tq"), kExtents.at("Tk")});
  for (std::size_t i = 0; i < cells.bytes().size(); ++i) {
    cells.as<std::uint8_t>()[i] = (3 * i * i + i) % 11 < 6;
  }
  return mask_from_dense(cells);
}

std::vector<Option> options_of(const Operation& form) {
  static const std::vector<Case> cases = all_cases();
  const NamedArguments call = small_call(form);
  std::vector<Option> options;
  for (const Field& field : form.fields) {
    const bool is_left_out = field.is(kHint) || field.is(kParts) || field.is(kBound);
    if (!field.listed() || field.is(kRequired) || is_left_out) continue;
    Case row = case_of(cases, form, field, call);
    options.push_back({row.field, std::move(row.value), std::move(row.also)});
  }
  if (form.takes_mask()) options.push_back({"a mask", {}, {}, true});
  return options;
}

void give(const Option& option, NamedArguments& call) {
  if (option.is_mask) {
    call.mask = scattered();
  } else {
    set({{option.name, option.value}}, call);
  }
}

/// The results of a call, and the arguments that its warnings say have no effect.
struct Answer {
  NamedResults results;
  std::set<std::string> noted;  // names of arguments
};

std::optional<Answer> answer(const Operation& form, const NamedArguments& call) {
  try {
    Answer out{run(form, call), {}};
    for (const auto& lines : {warnings(form, call), warnings(form, call, out.results)}) {
      for (const std::string& line : lines) {
        const std::size_t end = line.find(": no effect");
        if (end != line.npos) out.noted.insert(line.substr(0, end));
      }
    }
    return out;
  } catch (const Error& error) {
    CHECK_FALSE(std::string_view(error.what()).empty());
    return std::nullopt;
  }
}

bool is_same(const NamedResults& a, const NamedResults& b) {
  return a.size() == b.size() && same_bits(a, b);
}

/// Calls the operation with `options` in addition to `base`, and checks that leaving out any one of
/// them changes the results unless a warning says that it has no effect. False if the call is
/// refused.
bool check(const Operation& form, const NamedArguments& base, const std::vector<Option>& options) {
  NamedArguments call = base;
  for (const Option& option : options) give(option, call);
  const std::optional<Answer> with = answer(form, call);
  if (!with) return false;
  for (const Option& left_out : options) {
    NamedArguments less = base;
    for (const Option& option : options) {
      if (option.name != left_out.name) give(option, less);
    }
    const std::optional<Answer> without = answer(form, less);
    INFO("left out: " << left_out.name);
    const bool changes = !without || !is_same(with->results, without->results);
    CHECK(changes != with->noted.contains(left_out.name));
  }
  return true;
}

/// Returns a small call in which the options can have an effect. It does not set the options
/// themselves, except where an option needs another value of itself to compare with.
NamedArguments prepared(const Operation& form, const std::vector<Option>& options) {
  const NamedArguments plain = small_call(form);
  NamedArguments call = plain;
  for (const Option& option : options) set(option.also, call);
  // If an option sets itself to a value to compare with, and another option sets it too, its own
  // setting wins.
  for (const Option& option : options) {
    const auto own = option.also.find(option.name);
    if (own != option.also.end()) set({*own}, call);
  }
  for (const Option& option : options) {
    if (option.also.contains(option.name)) continue;
    set({{option.name, {}}}, call);
    const auto array = plain.arrays.find(option.name);
    if (array != plain.arrays.end()) call.arrays.insert(*array);
    const auto text = plain.options.find(option.name);
    if (text != plain.options.end()) call.options.insert(*text);
  }
  return call;
}

TEST_CASE(
    "effects: every option changes a result, has a note that it has no effect, or is refused") {
  for (const Operation* const form : forms()) {
    for (const Option& option : options_of(*form)) {
      INFO(form->name << " " << option.name);
      check(*form, small_call(*form), {option});
      CHECK(check(*form, prepared(*form, {option}), {option}));
    }
  }
}

TEST_CASE(
    "effects: in every pair of options, each changes a result or is noted, or both are refused") {
  for (const Operation* const form : forms()) {
    const std::vector<Option> options = options_of(*form);
    for (std::size_t i = 0; i < options.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const Option &a = options[i], &b = options[j];
        if (a.name == b.name) continue;  // array and text forms of one argument
        INFO(form->name << " " << a.name << " " << b.name);
        check(*form, small_call(*form), {a, b});
        check(*form, prepared(*form, {a, b}), {a, b});
      }
    }
  }
}

/// Returns the warnings about a small call with these options, or its error.
std::string said(const char* operation, const std::map<std::string, std::string>& options) {
  const Operation& form = *find_operation(operation);
  NamedArguments call = small_call(form);
  for (const auto& [name, text] : options) call.options[name] = text;
  std::string lines;
  try {
    const NamedResults results = run(form, call);
    for (const auto& part : {warnings(form, call), warnings(form, call, results)}) {
      for (const std::string& line : part) lines += "note " + line + "\n";
    }
  } catch (const Error& error) {
    lines = error.what();
  }
  return lines;
}

TEST_CASE("effects: a note names the option that is in the way, and a remedy") {
  CHECK(said("ring_attention", {{"pdrop", "0.5"}}) ==
        "note pdrop: no effect with deterministic=true; give deterministic=false\n");
  CHECK(said("attention", {{"dropout_prob", "0.5"}}) ==
        "note dropout_prob: no effect with deterministic=true; give deterministic=false\n");
  CHECK(said("blocksparse_attention", {{"chunk_size", "3"}, {"sliding_window", "1"}}) ==
        "note sliding_window: no effect with chunk_size; leave one of them out\n");
  CHECK(said("blocksparse_attention", {{"chunk_size", "3"}, {"causal", "false"}}) ==
        "note causal: no effect with chunk_size; leave one of them out\n");
  CHECK(said("blocksparse_attention", {{"block_size", "64"}}) ==
        "block_size: no effect without block_mask; give block_mask=SOURCE, or leave it out");
  CHECK(said("ring_attention", {{"causal", "true"}, {"causal_block_size", "2"}}) ==
        "note causal_block_size: no effect with causal=true; give causal=false\n");
  CHECK(said("ring_attention", {{"attention_sink_size", "2"}}) ==
        "attention_sink_size: no effect without sliding_window; give sliding_window=VALUE, or "
        "leave it out");
  CHECK(said("ring_attention", {{"axis_name", "nonsense"}}) ==
        "note axis_name: no effect without a mesh; give a mesh, or leave it out\n");
  CHECK(
      said("mean_pooling", {{"chunk_size", "32"}}) ==
      "note chunk_size: no effect without mode=per_chunk; give mode=per_chunk, or leave it out\n");
  CHECK(said("flash_attention", {{"empty_row", "mean"}, {"causal", "true"}}) ==
        "note empty_row: no effect: every query sees a key\n");
}

TEST_CASE("effects: an option at its neutral value gets no note") {
  CHECK(said("ring_attention", {{"attention_sink_size", "0"},
                                {"pdrop", "0"},
                                {"causal", "false"},
                                {"deterministic", "true"},
                                {"segment_padding", "negative"}})
            .empty());
  CHECK(said("flash_attention", {{"empty_row", "zero"}, {"normalize_output", "true"}}).empty());
}

TEST_CASE("effects: ring_size has no effect over a mesh, and axis_name has none without a mesh") {
  const Operation& form = *find_operation("ring_attention");
  NamedArguments call = small_call(form);
  call.options = {{"ring_size", "2"}, {"axis_name", "sp"}, {"assign", "zigzag"}};
  const BoundCall bound(form, call);
  const auto names = [&](bool over_mesh) {
    std::set<std::string_view> out;
    for (const IdleArgument& idle : bound.idle(over_mesh)) out.insert(idle.field->name);
    return out;
  };
  CHECK(names(true) == std::set<std::string_view>{"ring_size"});
  CHECK(names(false) == std::set<std::string_view>{"axis_name"});
}

}  // namespace

}  // namespace effects_cases
