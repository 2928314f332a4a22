// MaskForm: a mask as most libraries can take it, made of a band, chunks, documents, first keys and
// padding.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/inspect/why/why.h"
#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// One of two masks:
///   ((band and chunk) or key < sinks) and causal and documents and padding
///   ((band and chunk) or key < prefix) and documents and padding
/// The band is -left <= k - (q + shift(align)) <= right; a side that is not set is unbounded.
/// Causal means right = 0.
struct MaskForm {
  std::optional<Index> left, right;
  Align align = Align::kUnset;
  std::optional<Index> chunk;
  Index chunk_offset = 0;
  Align chunk_align = Align::kUnset;  // kUnset: chunks are counted from the first row
  std::vector<Index> chunk_origins;   // keys where a chunk starts: one, or one per batch; empty: 0
  Index sinks = 0;                    // number of first keys that all later queries see
  Index prefix = 0;                   // number of first keys that all queries see
  bool documents = false;
  bool inside = false;  // all rules above apply inside each document
  std::vector<Index> lengths,
      kv_lengths;              // document lengths, if known; empty kv_lengths: the same for keys
  NamedArray ids, kv_ids;      // ids of documents without known lengths; empty kv_ids: the same
  std::vector<Index> padding;  // numbers of valid keys: one, or one per batch; empty: all
  bool pad_left = false, pad_queries = false;
  /// The first step of the chain that does not fit this form, and the reason; empty if all fit.
  std::string rest;

  bool causal() const { return right == Index{0}; }
  bool banded() const { return left || right; }
  bool padded() const { return !padding.empty(); }
  /// True if a side is negative: then the band does not contain the diagonal.
  bool off_diagonal() const { return (left && *left < 0) || (right && *right < 0); }
  /// True if first keys are open in addition to the band.
  bool opens_first_keys() const { return sinks > 0 || prefix > 0; }
};

/// The smaller of two sides of windows; a side that is not set is unbounded.
std::optional<Index> narrower(std::optional<Index> a, std::optional<Index> b);

/// Converts a chain to a MaskForm. `name` says what a step is called in MaskForm::rest.
MaskForm mask_form(const Chain& chain, const StepName& name);
/// The chain that a MaskForm stands for, without the steps in MaskForm::rest.
Chain chain_of(const MaskForm& form);

}  // namespace maskctl
