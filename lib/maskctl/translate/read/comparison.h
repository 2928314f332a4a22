// Reads one comparison in q_idx, kv_idx and numbers as a rule; private to the layer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/read/mask_part.h"

namespace maskctl {

/// A sum of multiples of q, k, Q, K, and a number.
struct Linear {
  Index q = 0, k = 0, queries = 0, keys = 0, number = 0;
};

/// Reads comparisons. `rows` says where q_idx counts from when Q != K: the first row (kTopLeft) or
/// the first cached token (kBottomRight).
class Comparisons {
 public:
  Comparisons(const LibrarySource& source, Align rows) : source_(source), rows_(rows) {}

  /// `left sign right`. Fails for what no rule says.
  Condition read(const Python& left, std::string_view sign, const Python& right, Index position);
  /// kv_idx < n and q_idx < n, or both from KV_LEN - n on: padding of keys and queries.
  std::optional<Condition> padding(const Python& keys, const Python& queries) const;
  /// is_global[q_idx] | is_global[kv_idx].
  std::optional<Condition> global(const Python& left, const Python& right) const;
  /// The name of ids that are compared with each other: doc_id[q_idx] == doc_id[kv_idx].
  const std::string* compared_ids(const Python& given) const;
  /// The name of ids whose padding is left out: doc_id[q_idx] != -1, or of kv_idx.
  const std::string* unpadded_ids(const Python& given) const;
  /// Documents of ids, of which -1 is padding.
  Condition documents(const Python& given, bool padded) const;

 private:
  /// The name that is indexed by `axis`: doc_id[q_idx], doc_id[b, q_idx].
  const Python* indexed(const Python& value, std::string_view axis) const;
  /// The ids that two sides read, one with q_idx and the other with kv_idx; null if they do not.
  const Python* ids_of(const Python& left, const Python& right) const;
  std::optional<Linear> linear(const Python& given) const;
  std::optional<Linear> linear_word(const Python& given) const;
  /// value // by, or value % by.
  std::optional<Linear> scaled(const Python& given, std::string_view sign, Index& by) const;
  Align aligned(Index shift, Index position) const;
  /// q is a row as dilation counts it: q_idx, or q_idx + Q_LEN - KV_LEN of transformers.
  bool counts_rows(const Linear& form) const;

  std::optional<MaskPart> at_most(const Linear& form, Index position) const;  // form <= 0
  Condition below(const Linear& form, Index position) const;                  // form <= 0
  Condition equal_to_zero(const Linear& form, Index position) const;
  std::optional<Condition> absolute(const Python& left, std::string_view sign, const Python& right,
                                    Index position) const;
  std::optional<Condition> chunks(const Python& left, std::string_view sign, const Python& right,
                                  Index position) const;
  std::optional<Condition> dilated(const Python& left, const Python& right) const;
  std::optional<Condition> per_batch(const Python& given, std::string_view sign,
                                     const Python& limit) const;

  const LibrarySource& source_;
  Align rows_;
};

}  // namespace maskctl
