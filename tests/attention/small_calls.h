// Small calls of every operation, for tests that treat all operations alike.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "maskctl/attention/calls/by_name.h"
#include "maskctl/attention/operations/all.h"
#include "support/tensors.h"

namespace maskctl::attention_test {

using namespace maskctl::attention;
using maskctl::test::i32;

/// Returns the descriptions of all operations; an operation with two call forms has two.
inline std::vector<const Operation*> forms() {
  std::vector<const Operation*> all;
  for (const Operation* row : operations()) {
    all.push_back(row);
    if (row->other_form) all.push_back(row->other_form);
  }
  return all;
}

/// Calls f(form, field) for each listed argument of each operation.
template <class F>
void for_each_argument(F&& f) {
  for (const Operation* const form : forms()) {
    for (const Field& field : form->fields) {
      if (field.listed()) f(*form, field);
    }
  }
}

/// The value of an argument: text or an array; std::monostate leaves the argument out.
using Value = std::variant<std::monostate, std::string, Tensor>;
using Settings = std::map<std::string, Value>;

inline void set(const Settings& settings, NamedArguments& arguments) {
  for (const auto& [name, value] : settings) {
    if (std::holds_alternative<std::monostate>(value)) {
      arguments.arrays.erase(name);
      arguments.options.erase(name);
    } else if (const auto* array = std::get_if<Tensor>(&value)) {
      arguments.arrays[name] = *array;
    } else {
      arguments.options[name] = std::get<std::string>(value);
    }
  }
}

inline const AxisExtents kExtents = {
    {"B", 2},   {"T", 8},    {"Tq", 6},    {"Tk", 8},      {"S", 8},         {"Hq", 4},
    {"Hkv", 2}, {"D", 8},    {"Dv", 6},    {"K", 6},       {"V", 5},         {"R", 7},
    {"P", 3},   {"C", 5},    {"M", 9},     {"N", 6},       {"sinks", 3},     {"G", 4},
    {"W", 4},   {"past", 3}, {"pages", 9}, {"packing", 1}, {"page_size", 2}, {"Dpad", 128}};

/// Returns the arguments without which the operation does not run, other than arrays of floats.
inline Settings needed_by(const Operation& form) {
  const auto has = [&form](std::string_view name) { return form.has(name); };
  Settings needed;
  if (has("context_lens")) {
    needed["context_lens"] = i32({5, 7});
    needed["block_tables"] = i32({2, 4}, {3, 1, 0, -1, 4, 2, 8, 7});
  }
  // Pages have as many heads as tokens, so shapes do not tell the layout.
  if (has("kv_layout")) needed["kv_layout"] = "heads_first";
  if (has("query_start_loc")) needed["query_start_loc"] = i32({0, 2, 8});
  if (has("kv_lens")) {
    needed["kv_lens"] = i32({5, 7});
    needed["block_tables"] = i32({3, 1, 0, -1, 4, 2, 8, 7});
    needed["distribution"] = i32({0, 0, 2});
  }
  if (has("page_indices")) {
    needed["cu_seqlens_q"] = i32({0, 2, 8}), needed["cu_seqlens_k"] = i32({0, 5, 12});
    needed["page_indices"] = i32({2, 4}, {3, 1, 0, -1, 4, 2, 8, 7});
  }
  if (has("sequence_start")) {
    needed["sequence_start"] = i32({1, 3}), needed["sequence_end"] = i32({6, 8});
  }
  // Three blocks of 2 tokens for each of 8 tokens and 2 heads.
  if (has("block_indices")) {
    needed["block_indices"] =
        i32({1, 8, 2, 3}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0,
                           0, 0, 2, 1, 2, 0, 0, 0, 2, 1, 2, 0, 0, 0, 3, 1, 3, 0, 0, 0, 3, 1, 3, 2});
    needed["block_size"] = "2";
  }
  if (has("decay")) needed["decay"] = maskctl::test::f32({4}, {-0.1F, -0.2F, -0.3F, 0});
  if (has("group_sizes")) needed["group_sizes"] = i32({2, 0, 5, 1});
  return needed;
}

inline NamedArguments small_call(const Operation& form) {
  NamedArguments arguments;
  set(needed_by(form), arguments);
  AxisExtents extents = kExtents;
  const bool packs = form.has("cu_seqlens") && !form.has("key_value") && !form.has("hidden_states");
  if (packs) extents["B"] = 1;
  add_random_arrays(form, {.extents = extents, .seed = 4}, arguments);
  return arguments;
}

/// True if the results that both calls have are equal, bit by bit.
inline bool same_bits(const NamedResults& a, const NamedResults& b) {
  return std::ranges::all_of(a, [&b](const auto& result) {
    const auto other = b.find(result.first);
    return other == b.end() || (other->second.shape() == result.second.shape() &&
                                std::ranges::equal(other->second.bytes(), result.second.bytes()));
  });
}

}  // namespace maskctl::attention_test
