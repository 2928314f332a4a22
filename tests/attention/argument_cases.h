// Test cases for every argument of the operations: a value, and further arguments with which the
// value changes the result.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "attention/small_calls.h"
#include "maskctl/attention/calls/axes.h"
#include "support/catch_compat.h"

namespace maskctl::attention_test {

enum class Effect {
  kChanges,   // the argument changes some bit of an output
  kRounding,  // the argument changes outputs by rounding alone
  kAdds,      // the argument adds outputs, and changes no other
  kRefuses,   // the argument makes a call fail that runs without it
};

/// An argument and a value for it. The arguments `also` are set in the calls with and without the
/// value, so that it has an effect.
struct Case {
  std::string field;
  Value value;
  Settings also = {};
  // The only operation that this case is for; empty: all operations without a case of their own.
  std::string operation = {};
  Effect effect = Effect::kChanges;
  std::string why_unchanged = {};
};

inline Tensor random(std::vector<Index> shape) { return random_normal(std::move(shape), 77); }
inline Tensor ones(std::vector<Index> shape) {
  Tensor out(DType::kInt32, std::move(shape));
  std::ranges::fill(out.as<std::int32_t>(), 1);
  return out;
}
inline Tensor blocks_of_two(const std::array<std::uint8_t, 4>& open) {
  Tensor blocks(DType::kBool, {2, 2});
  std::ranges::copy(open, blocks.as<std::uint8_t>().begin());
  return blocks;
}
/// Returns a key mask [2,8] in which the second batch has no open key.
inline Tensor no_key_in_one() {
  Tensor keys = ones({2, 8});
  std::ranges::fill(keys.as<std::int32_t>().subspan(8), 0);
  return keys;
}
inline const Settings kSegments = {{"q_segment_ids", i32({1, 1, 1, 1, 0, 0})},
                                   {"kv_segment_ids", i32({1, 1, 1, 1, 0, 0, 0, 0})}};
inline const Settings kPositions = {{"q_positions", i32({0, 1, 2, 3, 4, 5})},
                                    {"kv_positions", i32({0, 1, 2, 3, 4, 5, 6, 7})}};
inline const Settings kLengths = {{"cum_seqlens_q", i32({0, 4, 10})},
                                  {"cum_seqlens_k", i32({0, 5, 12})}};
inline const Settings kBlocks = {
    {"block_mask", blocks_of_two({1, 0, 0, 1})}, {"block_size", "4"}, {"causal", "false"}};
inline const Settings kLayer = {{"decay", {}}, {"layer_idx", "1"}, {"num_layers", "4"}};

inline std::vector<Case> mask_cases() {
  return {
      {"attention_mask", no_key_in_one()},
      {"causal", "true"},
      {"causal", "false", {}, "blocksparse_attention"},
      {"sliding_window", "1"},
      {"sliding_window", "2", {}, "ragged_page_attention"},  // the 2 keys include the token's own
      {"sliding_window", "2", {}, "ragged_page_attention_v3"},
      {"causal_alignment", "bottom-right", {{"causal", "true"}}},
      {"query_lengths", i32({4, 6}), {{"key_lengths", i32({8, 8})}}},
      {"key_lengths", i32({5, 8}), {{"query_lengths", i32({6, 6})}}},
      {"cum_seqlens_q", i32({0, 3, 9}), kLengths},
      {"cum_seqlens_k", i32({0, 3, 10}), kLengths},
      {"q_segment_ids", i32({1, 1, 0, 1, 0, 0}), kSegments},
      {"kv_segment_ids", i32({1, 0, 1, 0, 1, 1, 0, 0}), kSegments},
      {"segment_padding", "zero", kSegments},
      {"q_positions", i32({1, 0, 2, 3, 5, 6}), kPositions},
      {"kv_positions", i32({0, 2, 1, 3, 4, 5, 6, 7}), kPositions},
      {"block_mask", blocks_of_two({1, 1, 1, 0}), kBlocks},
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

inline std::vector<Case> softmax_cases() {
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

inline std::vector<Case> paged_cases() {
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
      {"kv_layout", "tokens_first"},  // pages of small calls have as many heads as tokens
      {"q_scale", "3"},
      {"k_scale", "3"},
      {"v_scale", "3"},
      {"max_context_len", "6", {}, {}, Effect::kRefuses, "it only bounds the lengths"},
  };
}

inline std::vector<Case> other_cases() {
  return {
      {"cu_seqlens", i32({0, 3, 8})},
      {"cu_seqlens",
       i32({0, 3, 8}),
       {{"x", random({8, 5})}, {"cu_seqlens", i32({0, 8})}},
       "mean_pooling"},
      {"reverse", "true"},
      {"return_state", "true", {}, {}, Effect::kAdds, "it asks for final_state"},
      {"activation", "silu"},
      {"layer_idx", "2", kLayer},
      {"num_layers", "5", kLayer},
      {"block_indices", ones({1, 8, 2, 3})},
      {"block_counts", i32({1, 8, 2}, std::vector<std::int32_t>(16, 2))},
      {"block_counts", "2"},
      {"block_size", "3"},
      {"duplicate_blocks", "once"},
      {"group_sizes", i32({2, 3, 2, 1})},
      {"group_ids",
       ones({9}),
       {{"group_sizes", {}}, {"group_ids", i32({0, 1, 2, 3, 0, 1, 2, 3, 0})}}},
      {"group_offset",
       i32({1}),
       {{"group_sizes", i32({2, 0, 4, 1, 1})}, {"group_offset", i32({0})}}},
      {"transpose_rhs", "true"},  // the matrices of small calls are square
      {"existing_out_mode", "keep_unprocessed", {{"existing_out", random({9, 6})}}},
      {"preferred_element_type", "float16"},
      {"attention_mask", no_key_in_one(), {}, "mean_pooling"},
      {"mode", "per_chunk"},
      {"chunk_size", "3", {{"mode", "per_chunk"}, {"chunk_size", "4"}}, "mean_pooling"},
  };
}

inline std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto& cases : {mask_cases(), softmax_cases(), paged_cases(), other_cases()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

/// Returns other random floats for an array argument that has no case, in the shape that small
/// calls use.
inline Value other_floats(const Operation& form, const Field& field, const NamedArguments& call) {
  const auto given = call.arrays.find(std::string(field.name));
  if (given != call.arrays.end()) return random(given->second.shape());
  std::vector<Index> shape;
  for (const Axis& axis : first_axes(field.axes)) {
    const std::string name = axis.name.substr(0, axis.name.find('/'));
    const std::string first(form.fields.front().name);
    const bool one_batch = name == "B" && call.arrays.at(first).extent(0) == 1;
    shape.push_back(one_batch ? 1 : kExtents.at(name) * axis.factor);
  }
  return random(shape);
}

/// Returns the case of an argument: that of its operation, or else the one for all operations.
/// Array arguments and text arguments of one name have separate cases.
inline const Case* find_case(const std::vector<Case>& cases, const Operation& form,
                             const Field& field) {
  const Case* found = nullptr;
  for (const Case& row : cases) {
    const bool fits =
        row.field == field.name && std::holds_alternative<Tensor>(row.value) == field.is_array;
    if (fits && row.operation == form.name) return &row;
    if (fits && row.operation.empty()) found = &row;
  }
  return found;
}

inline Case case_of(const std::vector<Case>& cases, const Operation& form, const Field& field,
                    const NamedArguments& call) {
  const std::string name(field.name);
  if (field.is(kHint)) return {name, "3", {}, {}, Effect::kRounding, "it is a hint"};
  if (const Case* const own = find_case(cases, form, field)) return *own;
  INFO(form.name << " has no case for " << name << ": say in this file what shows that it is read");
  REQUIRE((field.is_array && !field.is(kIntegers)));
  return {name, other_floats(form, field, call)};
}

}  // namespace maskctl::attention_test
