// doc: keeps the keys in the query's document, given ids or lengths.
#pragma once

#include <vector>

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

/// Keeps cells whose query and key have the same id, other than pad_id. Ids are [S] or [B,S].
struct Document {
  NamedArray q = {}, kv = {};
  bool shared = false;  // one SOURCE for both queries and keys
  std::int32_t pad_id = -1;
  friend bool operator==(const Document&, const Document&) = default;
};
const RuleInfo& row(const Document*);

/// Documents given by lengths, the same in all batches: doc:lens=3+5. Tokens past the last document
/// see nothing and are seen by none.
struct DocumentLengths {
  std::vector<Index> lengths = {};
  friend bool operator==(const DocumentLengths&, const DocumentLengths&) = default;
};
const RuleInfo& row(const DocumentLengths*);

}  // namespace maskctl::step
