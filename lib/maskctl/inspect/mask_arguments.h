// A chain of steps in the form in which libraries take masks: a band, chunks, documents, first
// keys.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/inspect/why.h"
#include "maskctl/mask/step.h"

namespace maskctl {

/// ((band and chunk) or key < sinks) and causal and documents, or
/// ((band and chunk) or key < prefix) and documents. The band: -left <= k - (q + shift(align)) <=
/// right, nothing = unbounded; causal is right = 0.
struct MaskArguments {
  std::optional<Index> left, right;
  Align align = Align::kUnset;
  std::optional<Index> chunk;
  Index chunk_offset = 0;
  Index sinks = 0;   // first keys, seen by all later queries
  Index prefix = 0;  // first keys, seen by all queries
  bool documents = false;
  std::vector<Index> lengths;   // of documents, when known
  std::string document_source;  // what named the ids otherwise
  /// The first step that has no place in this form, and why; empty: the form is the whole mask.
  std::string rest;

  bool causal() const { return right == Index{0}; }
  bool banded() const { return left || right; }
};

/// `name` spells steps in `rest`.
MaskArguments mask_arguments(const Chain& chain, const StepName& name);
/// The steps of the form in their order. `rest` and ids that a source names are left out.
Chain chain_of(const MaskArguments& arguments);

}  // namespace maskctl
