// Writes a chain of steps as one Python expression, for libraries that take a function of two
// indices or a dense mask; private to the layer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/translate/translate.h"

namespace maskctl {

struct Formula {
  std::vector<std::string> tensors;        // lines of code that define what the expression reads
  std::vector<Translation::Array> arrays;  // arrays too long for a line
  std::string expression;                  // in b, h, q_idx and kv_idx
  std::vector<std::string> notes;          // the sizes and batches that the code holds for
  std::string missing;                     // a step without a formula; empty: all have one
  bool batches = false;                    // whether it tells batches apart: reads b
  bool heads = false;                      // whether it tells heads apart: reads h
  std::optional<Index> tokens;             // Q = K for which its arrays hold values

  /// Whether the expression or what it reads is made of Q_LEN or KV_LEN.
  bool reads_lengths() const;
};

/// Code for the mask that the chain makes of an all-open one, in the words of the library's module.
/// q_idx counts rows from 0, or from the first cached token: q_idx = row + K - Q.
Formula formula_of(const Chain& chain, const StepName& name, const Library& library);

}  // namespace maskctl
