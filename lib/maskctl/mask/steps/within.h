// within: applies a chain inside each document, as to a mask of its own.
#pragma once

#include <vector>

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/rules.h"

namespace maskctl::step {

/// A document's part is its queries x its keys; all other cells are closed. Documents are lengths
/// from the first token on, or ids [S] or [B,S] of which equal ones are adjacent; queries and keys
/// of one id form a document, and tokens of pad_id are in none.
struct Within {
  std::vector<Index> lengths = {}, kv_lengths = {};  // empty kv_lengths: as the queries'
  NamedArray q = {}, kv = {};                        // ids instead of lengths
  bool shared = true;                                // one SOURCE of ids for both sides
  std::int32_t pad_id = -1;
  Chain chain;
  friend bool operator==(const Within& a, const Within& b);
};

}  // namespace maskctl::step
