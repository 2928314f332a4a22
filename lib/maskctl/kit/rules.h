// The kit: what masks and calls of attention mean, a sentence each, and the cases that ask whether
// a library reads them so. docs/semantics.md is the page of these sentences.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl::kit {

/// The call of a case: attention in one head h of one batch entry is
///   s_ij = scale q_i . k_j, cap tanh(s_ij / cap) with a cap, plus bias_ij with a bias
///   out_i = sum over the open j of exp(s_ij - lse_i) v_j
///   lse_i = ln(sum over the open j of exp(s_ij) + sum over the sinks t of exp(sink_t))
struct Call {
  Index batch = 1, heads = 2, kv_heads = 2, queries = 0, keys = 0;
  Index dim = 64, value_dim = 64;                   // D of queries and keys, and of values
  std::optional<double> scale = {}, soft_cap = {};  // scale: 1 / sqrt(D)
  Index sinks = 0;                                  // logits without a value, for each head
  bool bias = false;                                // an array [1, Hq, Q, K]
  Range nan_keys = {};                              // tokens whose key and value are NaN
};

/// An array of whole numbers that the steps of a case name: `runs` of equal numbers, "0*5 1*7
/// -1*3", in C order.
struct StepArray {
  std::string_view name;
  std::vector<Index> shape;
  std::string_view runs;
};

struct Case {
  Call call;
  std::string_view steps;  // the mask as a pipeline, applied to an all-open mask; "": that mask
  std::vector<StepArray> arrays = {};
};

/// Which results a rule is about. A library that does not give them has not been asked.
enum class Asks : std::uint8_t { kOut, kLse, kGradients };
/// "out", "lse" or "gradients".
std::string_view name(Asks asks);

/// A sentence of docs/semantics.md.
struct Rule {
  std::string_view id;           // "causal.bottom-right"
  std::string_view says;         // what holds
  std::string_view others = {};  // who reads it otherwise; empty: nobody that is known
  Asks asks = Asks::kOut;
  std::vector<Case> cases = {};  // three or more
};

/// Rules that belong together, under a heading of the page.
struct Section {
  std::string_view title;
  std::span<const Rule> rules;
};

/// The sections of the page, and all their rules, in its order.
std::span<const Section> sections();
std::vector<const Rule*> all_rules();

std::span<const Rule> rules_of_masks();   // which pairs are open
std::span<const Rule> rules_of_tokens();  // documents, padding, trees and blocks
std::span<const Rule> rules_of_calls();   // numbers, rows and gradients

}  // namespace maskctl::kit
