// Rows of operations: they are well formed, and every argument that they list does what it says.
#include "maskctl/attention/operations.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <variant>

#include "maskctl/attention/axes.h"
#include "maskctl/attention/by_name.h"
#include "maskctl/attention/fields.h"
#include "maskctl/base/error.h"
#include "maskctl/tensor/convert.h"
#include "support/catch_compat.h"
#include "support/tensors.h"

namespace {

using namespace maskctl;
using namespace maskctl::attention;
using maskctl::test::check_close;
using maskctl::test::i32;

/// All rows; an operation of two forms has two.
std::vector<const Operation*> forms() {
  std::vector<const Operation*> all;
  for (const Operation* row : operations()) {
    all.push_back(row);
    if (row->other_form) all.push_back(row->other_form);
  }
  return all;
}

// Small calls.

/// What an argument is set to; std::monostate: it is left out.
using Value = std::variant<std::monostate, std::string, Tensor>;
using Settings = std::map<std::string, Value>;

void set(const Settings& settings, NamedArguments& arguments) {
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

const AxisExtents kExtents = {
    {"B", 2},     {"T", 8},       {"Tq", 6},        {"Tk", 8},    {"S", 8},     {"Hq", 4},
    {"Hkv", 2},   {"D", 8},       {"Dv", 6},        {"K", 6},     {"V", 5},     {"R", 7},
    {"P", 3},     {"C", 5},       {"M", 9},         {"N", 6},     {"sinks", 3}, {"G", 4},
    {"pages", 9}, {"packing", 1}, {"page_size", 2}, {"Dpad", 128}};

/// The arrays of integers that an operation needs, and what else it does not run without.
Settings needed_by(const Operation& form) {
  const auto has = [&form](std::string_view name) { return form.has(name); };
  Settings needed;
  if (has("context_lens")) {
    needed["context_lens"] = i32({5, 7});
    needed["block_tables"] = i32({2, 4}, {3, 1, 0, -1, 4, 2, 8, 7});
  }
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
  if (has("block_indices")) {  // for each of 8 tokens and 2 heads, blocks of 2 tokens
    needed["block_indices"] = i32({1, 8, 2, 2}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0,
                                                 0, 2, 1, 2, 0, 2, 1, 2, 0, 3, 1, 3, 0, 3, 1, 3});
    needed["block_size"] = "2";
  }
  if (has("decay")) needed["decay"] = test::f32({4}, {-0.1F, -0.2F, -0.3F, 0});
  if (has("group_sizes")) needed["group_sizes"] = i32({2, 0, 5, 1});
  return needed;
}

NamedArguments small_call(const Operation& form) {
  NamedArguments arguments;
  set(needed_by(form), arguments);
  AxisExtents extents = kExtents;
  const bool packs = form.has("cu_seqlens") && !form.has("key_value") && !form.has("x");
  if (packs) extents["B"] = 1;
  add_random_arrays(form, {.extents = extents, .seed = 4}, arguments);
  return arguments;
}

// What each argument does.

enum class Effect {
  kChanges,   // some bit of an output
  kRounding,  // nothing else
  kAdds,      // outputs, beside those that stay as they are
  kRefuses,   // calls that would run without it
};

/// One argument: `also` is set before and after it gets its value, for it to be seen.
struct Case {
  std::string field;
  Value value;
  Settings also = {};
  std::string operation = {};  // the only one that it is for; empty: those that have no own
  Effect effect = Effect::kChanges;
  std::string why_unchanged = {};
};

Tensor random(std::vector<Index> shape) { return random_normal(std::move(shape), 77); }
Tensor ones(std::vector<Index> shape) {
  Tensor out(DType::kInt32, std::move(shape));
  std::ranges::fill(out.as<std::int32_t>(), 1);
  return out;
}
Tensor block_diagonal(bool with_corner) {
  Tensor blocks(DType::kBool, {2, 2});
  std::ranges::copy(std::array<std::uint8_t, 4>{1, with_corner, 0, 1},
                    blocks.as<std::uint8_t>().begin());
  return blocks;
}
/// [2,8] keys, of which the second batch sees none.
Tensor no_key_in_one() {
  Tensor keys = ones({2, 8});
  std::ranges::fill(keys.as<std::int32_t>().subspan(8), 0);
  return keys;
}
const Settings kSegments = {{"q_segment_ids", i32({0, 0, 0, 1, 1, 1})},
                            {"kv_segment_ids", i32({0, 0, 0, 0, 1, 1, 1, 1})}};
const Settings kPositions = {{"q_positions", i32({0, 1, 2, 3, 4, 5})},
                             {"kv_positions", i32({0, 1, 2, 3, 4, 5, 6, 7})}};
const Settings kLengths = {{"cum_seqlens_q", i32({0, 4, 10})}, {"cum_seqlens_k", i32({0, 5, 12})}};
const Settings kBlocks = {
    {"block_mask", block_diagonal(false)}, {"block_size", "4"}, {"causal", "false"}};
const Settings kLayer = {{"decay", {}}, {"layer_idx", "1"}, {"num_layers", "4"}};

std::vector<Case> mask_cases() {
  return {
      {"attention_mask", no_key_in_one()},
      {"causal", "true"},
      {"causal", "false", {}, "blocksparse_attention"},
      {"sliding_window", "1"},
      {"causal_alignment", "bottom-right", {{"causal", "true"}}},
      {"query_lengths", i32({4, 6}), {{"key_lengths", i32({8, 8})}}},
      {"key_lengths", i32({5, 8}), {{"query_lengths", i32({6, 6})}}},
      {"cum_seqlens_q", i32({0, 3, 9}), kLengths},
      {"cum_seqlens_k", i32({0, 3, 10}), kLengths},
      {"q_segment_ids", i32({0, 1, 1, 1, 1, 1}), kSegments},
      {"kv_segment_ids", i32({0, 1, 1, 1, 1, 1, 1, 1}), kSegments},
      {"segment_padding", "zero", kSegments},
      {"q_positions", i32({1, 1, 2, 3, 4, 5}), kPositions},
      {"kv_positions", i32({0, 0, 0, 3, 4, 5, 6, 7}), kPositions},
      {"block_mask", block_diagonal(true), kBlocks},
      {"block_size", "5", kBlocks, "blocksparse_attention"},
      {"chunk_size", "3"},
      {"causal_block_size", "2", {{"causal", "false"}}},
      {"attention_sink_size", "1", {{"causal", "true"}, {"sliding_window", "1"}}},
      {"cu_seqlens", i32({0, 4, 9}), {{"cu_seqlens", i32({0, 6, 12})}}, "mla_attention"},
      {"mask_with_bias",
       "ignore",
       {{"bias", random({2, 4, 6, 8})}, {"attention_mask", no_key_in_one()}}},
  };
}

std::vector<Case> softmax_cases() {
  return {
      {"softmax_scale", "0.3"},
      {"attn_scale", "0.3"},
      {"logits_soft_cap", "0.5"},
      {"attn_logits_soft_cap", "0.5"},
      {"empty_row", "mean", {{"attention_mask", no_key_in_one()}}},
      {"empty_row",
       "mean",
       {{"q_segment_ids", i32({-1, 0, 0, 0, 0, 0})},
        {"kv_segment_ids", i32({0, 0, 0, 0, 0, 0, 0, 0})}},
       "blocksparse_attention"},
      {"normalize_output", "false"},
      {"b_q",
       random({2, 6, 3}),
       {{"b_q", random_normal({2, 6, 3}, 1)}, {"b_k", random({2, 8, 3})}}},
      {"b_k",
       random({2, 8, 3}),
       {{"b_q", random({2, 6, 3})}, {"b_k", random_normal({2, 8, 3}, 1)}}},
      {"dropout_prob", "0.5"},
      {"dropout_prob", "0.5", {{"deterministic", "false"}}, "attention"},
      {"pdrop", "0.5", {{"deterministic", "false"}}},
      {"dropout_seed", "9", {{"dropout_prob", "0.5"}}},
      {"dropout_rng", "9", {{"dropout_prob", "0.5"}, {"deterministic", "false"}}, "attention"},
      {"dropout_rng", "9", {{"pdrop", "0.5"}, {"deterministic", "false"}}, "ring_attention"},
      {"deterministic", "false", {{"dropout_prob", "0.5"}}, "attention"},
      {"deterministic", "false", {{"pdrop", "0.5"}}, "ring_attention"},
      {"ring_size", "2", {}, {}, Effect::kRounding, "ranks compute what one device computes"},
      {"sequence_parts", "2", {}, {}, Effect::kRounding, "parts compute what the whole computes"},
  };
}

std::vector<Case> paged_cases() {
  return {
      {"context_lens", i32({4, 7})},
      {"block_tables", i32({2, 4}, {3, 1, 5, -1, 4, 2, 8, 7})},
      {"block_tables", i32({3, 1, 5, -1, 4, 2, 8, 7}), {}, "ragged_page_attention_v3"},
      {"query_start_loc", i32({0, 3, 8})},
      {"kv_lens", i32({4, 7})},
      {"distribution", i32({0, 0, 1})},
      {"num_seqs", i32({1})},
      {"cu_seqlens_q", i32({0, 3, 8})},
      {"cu_seqlens_k", i32({0, 4, 12})},
      {"page_indices", i32({2, 4}, {3, 1, 5, -1, 4, 2, 8, 7})},
      {"sequence_start", i32({2, 3})},
      {"sequence_end", i32({5, 8})},
      {"kv_layout", "tokens_first"},  // of pages with as many heads as tokens
      {"q_scale", "3"},
      {"k_scale", "3"},
      {"v_scale", "3"},
      {"max_context_len", "6", {}, {}, Effect::kRefuses, "it only bounds the lengths"},
  };
}

std::vector<Case> other_cases() {
  return {
      {"cu_seqlens", i32({0, 3, 8})},
      {"cu_seqlens",
       i32({0, 3, 8}),
       {{"x", random({8, 5})}, {"cu_seqlens", i32({0, 8})}},
       "mean_pooling"},
      {"reverse", "true"},
      {"return_state", "true", {}, {}, Effect::kAdds, "it asks for final_state"},
      {"layer_idx", "2", kLayer},
      {"num_layers", "5", kLayer},
      {"block_indices", ones({1, 8, 2, 2})},
      {"block_counts", ones({1, 8, 2})},
      {"block_counts", "1"},
      {"block_size", "3"},
      {"duplicate_blocks", "once"},
      {"group_sizes", i32({2, 3, 2, 1})},
      {"group_ids",
       ones({9}),
       {{"group_sizes", {}}, {"group_ids", i32({0, 1, 2, 3, 0, 1, 2, 3, 0})}}},
      {"group_offset",
       i32({1}),
       {{"group_sizes", i32({2, 0, 4, 1, 1})}, {"group_offset", i32({0})}}},
      {"transpose_rhs", "true"},  // of square matrices
      {"existing_out_mode", "keep_unprocessed", {{"existing_out", random({9, 6})}}},
      {"preferred_element_type", "float16"},
      {"attention_mask", no_key_in_one(), {}, "mean_pooling"},
      {"mode", "per_chunk"},
      {"chunk_size", "3", {{"mode", "per_chunk"}, {"chunk_size", "4"}}, "mean_pooling"},
  };
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto& cases : {mask_cases(), softmax_cases(), paged_cases(), other_cases()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

/// Another array of floats than small calls have, of a field that has no case.
Value other_floats(const Field& field, const NamedArguments& call) {
  const auto given = call.arrays.find(std::string(field.name));
  if (given != call.arrays.end()) return random(given->second.shape());
  std::vector<Index> shape;
  for (const Axis& axis : first_axes(field.axes)) {
    const std::string name = axis.name.substr(0, axis.name.find('/'));
    const bool one_batch = name == "B" && call.arrays.at("query").extent(0) == 1;
    shape.push_back(one_batch ? 1 : kExtents.at(name) * axis.factor);
  }
  return random(shape);
}

/// The case of an argument: its operation's own, or that of all with its name and kind.
const Case* find_case(const std::vector<Case>& cases, const Operation& form, const Field& field) {
  const Case* found = nullptr;
  for (const Case& row : cases) {
    const bool fits =
        row.field == field.name && std::holds_alternative<Tensor>(row.value) == field.is_array;
    if (fits && row.operation == form.name) return &row;
    if (fits && row.operation.empty()) found = &row;
  }
  return found;
}

Case case_of(const std::vector<Case>& cases, const Operation& form, const Field& field,
             const NamedArguments& call) {
  const std::string name(field.name);
  if (field.is(kHint)) return {name, "3", {}, {}, Effect::kRounding, "it is a hint"};
  if (const Case* const own = find_case(cases, form, field)) return *own;
  INFO(form.name << " has no case for " << name << ": say in this file what shows that it is read");
  REQUIRE((field.is_array && !field.is(kIntegers)));
  return {name, other_floats(field, call)};
}

bool same_bits(const NamedResults& a, const NamedResults& b) {
  return std::ranges::all_of(a, [&b](const auto& result) {
    const auto other = b.find(result.first);
    return other == b.end() || (other->second.shape() == result.second.shape() &&
                                std::ranges::equal(other->second.bytes(), result.second.bytes()));
  });
}

void check_effect(const Operation& form, const Case& row, NamedArguments before) {
  set(row.also, before);
  NamedArguments after = before;
  set({{row.field, row.value}}, after);
  if (row.effect == Effect::kRefuses) {
    CHECK_NOTHROW(run(form, before));
    CHECK_THROWS_AS(run(form, after), Error);
    return;
  }
  const bool rounds = row.effect == Effect::kRounding;
  if (rounds) before.gradient_seed = after.gradient_seed = 5;
  const NamedResults expected = run(form, before), seen = run(form, after);
  if (row.effect == Effect::kAdds) CHECK(seen.size() > expected.size());
  if (!rounds) CHECK(same_bits(seen, expected) == (row.effect == Effect::kAdds));
  for (const auto& [name, array] : rounds ? expected : NamedResults()) {
    check_close(seen.at(name), array, 2e-6, name.c_str());
  }
}

/// f(form, field) for each argument that is listed.
template <class F>
void for_each_argument(F&& f) {
  for (const Operation* const form : forms()) {
    for (const Field& field : form->fields) {
      if (field.listed()) f(*form, field);
    }
  }
}

TEST_CASE("operations: every argument that is listed is read, by both backends") {
  const std::vector<Case> cases = all_cases();
  for_each_argument([&cases](const Operation& form, const Field& field) {
    for (const Backend backend : {Backend::kReference, Backend::kCpu}) {
      NamedArguments call = small_call(form);
      call.backend = backend;
      const Case row = case_of(cases, form, field, call);
      INFO(form.name << ": " << field.name << " " << row.why_unchanged);
      check_effect(form, row, call);
    }
  });
}

TEST_CASE("operations: every case is that of an argument") {
  const std::vector<Case> cases = all_cases();
  std::set<const Case*> used;
  for_each_argument([&](const Operation& form, const Field& field) {
    if (!field.is(kHint)) used.insert(find_case(cases, form, field));
  });
  for (const Case& row : cases) {
    INFO(row.operation << " " << row.field);
    CHECK(used.contains(&row));
    CHECK((row.effect == Effect::kChanges) == row.why_unchanged.empty());
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

TEST_CASE("operations: text that is no value of an option, and options as arrays, are refused") {
  for_each_argument([](const Operation& form, const Field& field) {
    const std::string name(field.name);
    const bool is_both = field.is_array && name == "block_counts";
    if (is_both) return;
    NamedArguments call = small_call(form);
    INFO(form.name << ": " << name);
    call.options[name] = "?";
    const std::string text = error_of(form, call);
    CHECK(text.starts_with(name + ": '?' is not") != field.is_array);
    const bool is_named = text.find("'" + name + "'") != text.npos;
    CHECK(is_named == field.is_array);
  });
}

/// Values of all arguments that belong to dropping weights.
const std::map<std::string, std::string> kDropping = {{"dropout_prob", "0.5"},
                                                      {"pdrop", "0.5"},
                                                      {"dropout_seed", "9"},
                                                      {"dropout_rng", "9"},
                                                      {"deterministic", "false"}};

TEST_CASE("operations: weights are dropped with a probability alone, and where it is allowed") {
  for (const Operation* const form : forms()) {
    NamedArguments call = small_call(*form);
    bool drops = false;
    const NamedResults whole = run(*form, call);
    for (const Field& field : form->fields) {
      const std::string name(field.name);
      if (!field.is(kDrops)) continue;
      call.options[name] = kDropping.at(name);
      drops = true;
    }
    INFO(form->name);
    CHECK(same_bits(run(*form, call), whole) == !drops);
    for (const char* const name : {"dropout_prob", "pdrop", "deterministic"}) {
      NamedArguments without = call;
      if (without.options.erase(name)) CHECK(same_bits(run(*form, without), whole));
    }
  }
}

// Rows.

bool is_listed_input(const Operation& form, std::string_view name) {
  return std::ranges::any_of(form.fields, [name](const Field& field) {
    return field.listed() && field.is_array && field.name == name;
  });
}

/// Each axis is a name of letters, or a number alone.
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

TEST_CASE("operations: axes of arguments and results can be read, and options have help") {
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
      CHECK(field.is(kHint) == !field.config.empty());
      for (const std::string_view word : field.words) {
        const bool is_unset = word == "unset";
        if (field.listed() && !is_unset) CHECK(field.help.find(word) != field.help.npos);
      }
    }
    for (const ResultField& output : form->outputs) check_axes(output.axes);
  }
}

/// Those of a call: rows may list more, that are for other operations.
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

TEST_CASE("operations: gradients are those of inputs, and flow in through outputs") {
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
    if (row->id != row->name) CHECK(operation_names.insert(row->id).second);
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

/// The block of docs/attention.md that shows `maskctl attend NAME --list`.
std::string documented(std::string_view operation) {
  std::ifstream file(MASKCTL_SOURCE_DIR "/docs/attention.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::size_t begin = page.find("$ maskctl attend " + std::string(operation) + " --list\n");
  return begin == page.npos ? "" : page.substr(begin, page.find("\n```", begin) - begin);
}

TEST_CASE("operations: the documentation lists every argument") {
  for_each_argument([](const Operation& form, const Field& field) {
    INFO(form.name << ": " << field.name);
    const std::string line = "\n  " + std::string(field.name) + " ";
    const bool is_documented = documented(form.name).find(line) != std::string::npos;
    CHECK(is_documented);
  });
}

}  // namespace
