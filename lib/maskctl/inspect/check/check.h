// What is wrong with a mask: one answer from its cells, its steps, and what is known beside them.
// `maskctl check`, the inspector and Python ask it, and only print what it says.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "maskctl/inspect/check/finding.h"
#include "maskctl/inspect/check/leaks.h"
#include "maskctl/mask/arrays/array_facts.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// What was noticed while the elements of a mask were read.
struct ReadFacts {
  Index odd_bools = 0;      // number of bool bytes that are neither 0 nor 1
  bool inf_closed = false;  // whether a bias closes cells with -inf
  bool min_closed = false;  // whether a bias closes cells with the lowest finite number
  ArrayFacts arrays = {};   // what was noticed in lists of keys, and in slices
};

/// A mask and all that is known of it; what is not known is left out.
struct CheckedMask {
  /// The mask before its steps. Absent where the arrays are too wrong to make a mask: then they
  /// alone are checked.
  std::optional<Mask> start;
  Chain chain = {};  // the steps to apply to it
  /// Declared documents: no query should see a key of another. They must fit the mask after its
  /// steps.
  std::optional<DocumentSource> documents = {};
  /// The documents from which the mask was made. They are used where none are declared and they
  /// still fit the mask after its steps; leaks are looked for only if a step opened cells.
  std::optional<DocumentSource> own_documents = {};
  std::optional<Index> own_tokens = {};  // how many queries they cover, where they are cu_seqlens
  std::optional<Index> own_keys = {};    // how many keys, if not as many
  std::optional<Mask> bias = {};         // the cells that a bias leaves open, used with the mask
  ReadFacts reading = {};                // what was noticed while the mask was read
  /// All steps that make the mask from an all-open one, if they are known.
  std::optional<Chain> whole = {};
  /// Further arrays that describe the same tokens. They, the documents and the flags of padding
  /// must not contradict each other (diff/descriptions.h).
  std::vector<DocumentSource> also = {};
};

/// What check() has not looked at.
enum class NotLookedAt : std::uint8_t {
  kMask,       // none was given, or the arrays make none
  kCells,      // single cells: the mask is too large for it
  kAnyCells,   // single cells: no few steps make the mask
  kLeftCells,  // the cells that few steps leave: whether they follow a rule of their own
  kDocuments,  // leaks: no documents are known that fit
  kBias,       // none was given
  kIntent,     // what the mask should be: expectations say that (expect.h)
};

struct CheckResult {
  std::optional<Mask> mask;                 // after its steps; absent if there was no start
  Findings findings;                        // errors first, then warnings, then notes
  std::optional<Leaks> leaks;               // absent if they were not looked for
  std::optional<Documents> documents = {};  // those that are known and fit the mask
  std::vector<NotLookedAt> not_looked_at;

  /// True if no finding is an error or a warning.
  bool ok() const;
};

/// Applies the steps, then looks for mistakes in the arrays, the steps and the mask. Throws like
/// apply() and documents_of(), and Error(kShape) for a bias of another shape.
CheckResult check(const CheckedMask& given);

/// False for cu_seqlens so wrong that no documents can be made of them. `queries` and `keys` are
/// the numbers of both, if known.
bool makes_documents(const DocumentSource& source, std::optional<Index> queries,
                     std::optional<Index> keys);

}  // namespace maskctl
