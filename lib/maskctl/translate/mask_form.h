// A chain of steps in the form in which libraries take masks: a band, chunks, documents, first
// keys, padding.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/inspect/why/why.h"
#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// ((band and chunk) or key < sinks) and causal and documents and padding, or ((band and chunk) or
/// key < prefix) and documents and padding. The band is -left <= k - (q + shift(align)) <= right,
/// where nullopt means unbounded; causal is right = 0.
struct MaskForm {
  std::optional<Index> left, right;
  Align align = Align::kUnset;
  std::optional<Index> chunk;
  Index chunk_offset = 0;
  Align chunk_align = Align::kUnset;  // kUnset: rows count from the first
  std::vector<Index> chunk_origins;   // one, or one per batch; empty means 0
  Index sinks = 0;                    // first keys, seen by all later queries
  Index prefix = 0;                   // first keys, seen by all queries
  bool documents = false;
  bool inside = false;  // all of the above applies inside each document
  std::vector<Index> lengths,
      kv_lengths;              // document lengths, if known; empty kv_lengths mean the same
  NamedArray ids, kv_ids;      // otherwise the ids; empty kv_ids mean the same
  std::vector<Index> padding;  // valid keys: one length, or one per batch; empty means all
  bool pad_left = false, pad_queries = false;
  /// The first step that does not fit this form, and why; empty when the form is the whole mask.
  std::string rest;

  bool causal() const { return right == Index{0}; }
  bool banded() const { return left || right; }
  bool padded() const { return !padding.empty(); }
  /// Whether a side is negative, so that the band does not contain the diagonal.
  bool off_diagonal() const { return (left && *left < 0) || (right && *right < 0); }
  /// Whether some keys are open beside the band.
  bool opens_first_keys() const { return sinks > 0 || prefix > 0; }
};

/// The smaller of two sides; an absent one is unbounded.
std::optional<Index> narrower(std::optional<Index> a, std::optional<Index> b);

/// `name` spells the step in `rest`.
MaskForm mask_form(const Chain& chain, const StepName& name);
/// The steps of the form in order, without `rest`.
Chain chain_of(const MaskForm& form);

}  // namespace maskctl
