// Tests that the descriptions of operations are consistent, that invalid option values are refused,
// and that arguments have ejkernel's names.
#include <set>
#include <sstream>

#include "attention/small_calls.h"
#include "maskctl/attention/calls/axes.h"
#include "maskctl/attention/calls/fields.h"
#include "maskctl/base/error.h"
#include "support/catch_compat.h"

namespace operation_rows_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention_test;

bool is_listed_input(const Operation& form, std::string_view name) {
  return std::ranges::any_of(form.fields, [name](const Field& field) {
    return field.listed() && field.is_array && field.name == name;
  });
}

/// Checks that each axis has a name of letters, or is a number.
void check_axes(std::string_view axes) {
  INFO("axes " << axes);
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) || c == '_' || c == '/'; };
  for (const std::vector<Axis>& alternative : axes_alternatives(axes)) {
    for (const Axis& axis : alternative) {
      CHECK(axis.factor > 0);
      CHECK(std::ranges::all_of(axis.name, is_letter));
      CHECK_FALSE((axis.name.empty() && axis.cumulative));
    }
  }
}

TEST_CASE(
    "operations: all arguments and results have axes that can be parsed, all options have help") {
  for (const Operation* const form : forms()) {
    INFO(form->name);
    CHECK_FALSE(form->summary.empty());
    for (const Field& field : form->fields) {
      INFO(field.name);
      check_axes(axes_of(field, form->empty_call()));
      check_axes(field.axes);
      if (field.listed()) CHECK(field.is_array != field.axes.empty());
      if (field.listed()) CHECK(field.is_array == field.help.empty());
      CHECK(field.is(kHint) == (field.help.starts_with("a hint")));
      for (const std::string_view word : field.words) {
        const bool is_unset = word == "unset";
        if (field.listed() && !is_unset) CHECK(field.help.find(word) != field.help.npos);
      }
    }
    for (const ResultField& output : form->outputs) check_axes(output.axes);
  }
}

/// Runs a small call with gradients, and checks that each belongs to an input, has its shape, and
/// that no required input lacks one.
void check_gradients(const Operation& form) {
  NamedArguments call = small_call(form);
  call.gradient_seed = 5;
  const NamedResults results = run(form, call);
  for (const auto& [name, array] : results) {
    if (!name.starts_with("grad_")) continue;
    INFO(name);
    REQUIRE(is_listed_input(form, name.substr(5)));
    CHECK(array.shape() == call.arrays.at(name.substr(5)).shape());
  }
  for (const Field& field : form.fields) {
    const bool expected = form.has_gradients() && field.is(kRequired) && !field.is(kIntegers);
    if (expected) CHECK(results.contains("grad_" + std::string(field.name)));
  }
}

TEST_CASE("operations: gradients belong to inputs, and cotangents to outputs") {
  for (const Operation* const form : forms()) {
    INFO(form->name);
    CHECK(form->has_gradients() == !form->gradients.empty());
    check_gradients(*form);
    std::istringstream words{std::string(form->cotangents)};
    for (std::string name; words >> name;) {
      INFO(name);
      CHECK(std::ranges::count(form->outputs, name, &ResultField::name) == 1);
    }
  }
}

TEST_CASE("operations: names are unique") {
  std::set<std::string_view> operation_names;
  for (const Operation* const row : operations()) {
    CHECK(operation_names.insert(row->name).second);
    if (row->alias != row->name) CHECK(operation_names.insert(row->alias).second);
    if (row->other_form) CHECK(row->other_form->name == row->name);
  }
  for (const Operation* const form : forms()) {
    std::set<std::pair<std::string_view, bool>> arguments;
    std::set<std::string_view> results;
    for (const Field& field : form->fields) {
      INFO(form->name << ": " << field.name);
      CHECK(arguments.emplace(field.name, field.is_array).second);
    }
    for (const ResultField& output : form->outputs) CHECK(results.insert(output.name).second);
  }
}

std::string error_of(const Operation& form, const NamedArguments& call) {
  try {
    run(form, call);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST_CASE("operations: invalid values of options, and arrays in their place, are refused") {
  for_each_argument([](const Operation& form, const Field& field) {
    const std::string name(field.name);
    const bool is_both = field.is_array && name == "block_counts";
    const Slot slot = field.slot(const_cast<void*>(form.empty_call()));  // NOLINT: only read
    // An option of free text has no invalid value.
    if (is_both || std::holds_alternative<std::string*>(slot)) return;
    NamedArguments call = small_call(form);
    INFO(form.name << ": " << name);
    call.options[name] = "?";
    const std::string text = error_of(form, call);
    CHECK(text.starts_with(name + ": '?' is not") != field.is_array);
    const bool is_named = text.find("'" + name + "'") != text.npos;
    CHECK(is_named == field.is_array);
  });
}

TEST_CASE("operations: arguments that ejkernel has too have its names") {
  std::set<std::string_view> names;
  for_each_argument([&names](const Operation&, const Field& field) {
    names.insert({field.name, field.alias});
  });
  for (const std::string_view name : {"query",           "key",
                                      "value",           "causal",
                                      "softmax_scale",   "sliding_window",
                                      "dropout_prob",    "bias",
                                      "cum_seqlens_q",   "cum_seqlens_k",
                                      "logits_soft_cap", "axis_name",
                                      "chunk_size",      "softmax_aux",
                                      "block_indices",   "block_counts",
                                      "cu_seqlens",      "key_cache",
                                      "value_cache",     "context_lens",
                                      "block_tables",    "key_pages",
                                      "value_pages",     "cu_seqlens_q",
                                      "cu_seqlens_k",    "page_indices",
                                      "attention_mask",  "block_mask",
                                      "block_size",      "gate",
                                      "decay",           "state",
                                      "inputs",          "weights",
                                      "group_ids",       "hidden_states"}) {
    INFO(name);
    CHECK(names.contains(name));
  }
}

}  // namespace

}  // namespace operation_rows_cases
