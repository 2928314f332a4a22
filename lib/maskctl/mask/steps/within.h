// within: applies a chain inside each document, as to a mask of its own.
#pragma once

#include <vector>

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

/// Applies the chain to the queries x keys of each document and closes all other cells. Documents
/// are given by lengths, from the first token on, or by ids [S] or [B,S]: queries and keys with the
/// same id form a document. Equal ids must be adjacent; tokens with pad_id are in no document.
/// Documents that all batch entries share take the place of these in the chain: a list such as
/// Prefix::each has one number per document, and Scoped on kBatch names documents.
struct Within {
  // keys have the lengths of queries if kv_lengths is empty
  std::vector<Index> lengths = {}, kv_lengths = {};
  NamedArray q = {}, kv = {};  // ids instead of lengths
  bool shared = true;          // one SOURCE of ids for both sides
  std::int32_t pad_id = -1;
  Chain chain;
  friend bool operator==(const Within& a, const Within& b);
};
const RuleInfo& row(const Within*);

}  // namespace maskctl::step
