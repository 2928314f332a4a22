// Writes a chain of steps as one Python expression, for libraries that take a function of q_idx and
// kv_idx or a dense mask; private to the layer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/translate/translate.h"
#include "maskctl/translate/write/chain_formula.h"

namespace maskctl {

struct Formula {
  std::vector<std::string> tensors;        // lines of code that define what the expression reads
  std::vector<Translation::Array> arrays;  // arrays too long to write into the code
  std::string expression;                  // in terms of b, h, q_idx and kv_idx
  std::vector<std::string> notes;          // for which sizes and batches the code is valid
  std::string missing;                     // a step without a formula, and why; empty: all have one
  bool batches = false;                    // depends on b
  bool heads = false;                      // depends on h
  std::optional<Index> tokens;             // if set, the arrays fit only if Q and K are this number

  /// True if Q_LEN or KV_LEN occurs in the expression or in what it reads.
  bool reads_lengths() const;
  /// True if they occur in what the expression reads.
  bool arrays_read_lengths() const;
};

/// Writes the mask that the chain gives when applied to a full mask, as code for the library. q_idx
/// counts rows from 0, or from the first cached token: q_idx = row + K - Q.
Formula formula_of(const Chain& chain, const StepName& name, const Library& library);
Formula formula_of(const ChainFormula& cells, const Library& library);

}  // namespace maskctl
