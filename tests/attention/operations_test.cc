// Every argument that an operation lists does something to its result, or it is said why not.
#include <array>
#include <set>

#include "attention/small_calls.h"
#include "maskctl/attention/axes.h"
#include "maskctl/base/error.h"
#include "support/backends.h"
#include "support/catch_compat.h"
#include "support/error_of.h"

namespace {

using namespace maskctl;
using namespace maskctl::attention_test;
using maskctl::test::check_close;

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
      {"assign", "zigzag", {{"ring_size", "2"}}, {}, Effect::kRounding, "ranks compute the same"},
      {"sequence_parts", "2", {}, {}, Effect::kRounding, "parts compute what the whole computes"},
      {"axis_name", "sp", {}, {}, Effect::kRounding, "it is for a mesh"},
      {"sequence_parallelism_mesh_axis_name", "sp", {}, {}, Effect::kRounding, "it is for a mesh"},
      {"group_parts", "2", {}, {}, Effect::kRounding, "parts compute what the whole computes"},
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

TEST_CASE(
    "operations: each is stopped by its context, and tells it who computes in place of whom") {
  for (const Operation* operation : operations()) {
    INFO(operation->name);
    NamedArguments call = small_call(*operation);
    const NamedResults expected = run(*operation, call);
    std::stop_source stop;
    call.context.stop = stop.get_token();
    CHECK(same_bits(run(*operation, call), expected));
    stop.request_stop();
    CHECK(maskctl::test::error_of([&] { run(*operation, call); }) == "stopped as requested");
    if (unavailable(Backend::kCuda).empty()) continue;
    std::vector<std::string> lines;
    call.context = {.backend = Backend::kCuda,
                    .fallback = [&](const std::string& line) { lines.push_back(line); }};
    CHECK(same_bits(run(*operation, call), expected));
    REQUIRE_FALSE(lines.empty());
    CHECK(lines.front().find(": cpu instead of cuda: ") != std::string::npos);
  }
}

TEST_CASE("operations: every argument that is listed is read, by every backend") {
  const std::vector<Case> cases = all_cases();
  for_each_argument([&cases](const Operation& form, const Field& field) {
    for (const Backend backend : test::usable_backends()) {
      NamedArguments call = small_call(form);
      call.context.backend = backend;
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

}  // namespace
