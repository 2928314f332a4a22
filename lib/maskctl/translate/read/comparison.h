// Reads one comparison between q_idx, kv_idx and numbers as a mask rule; private to the layer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/read/mask_part.h"

namespace maskctl {

/// The sum q * q_idx + k * kv_idx + queries * Q_LEN + keys * KV_LEN + number.
struct Linear {
  Index q = 0, k = 0, queries = 0, keys = 0, number = 0;
};

Linear minus(const Linear& a, const Linear& b);
/// The comparison sign after exchanging its sides: "<=" for ">=".
std::string_view exchanged(std::string_view sign);
/// The steps of a pipeline that reads no arrays.
Chain steps_of(std::string_view pipeline);

/// Reads comparisons. `rows` says what q_idx counts from when Q != K: the first row (kTopLeft) or
/// the first cached token (kBottomRight).
class Comparisons {
 public:
  Comparisons(const LibrarySource& source, Align rows) : source_(source), rows_(rows) {}

  /// The condition `left sign right`. Fails if no mask rule expresses it.
  Condition read(const Python& left, std::string_view sign, const Python& right, Index position);
  /// Reads padding of keys and queries together: kv_idx < n and q_idx < n, or both >= KV_LEN - n.
  /// Nothing for other comparisons.
  std::optional<Condition> padding(const Python& keys, const Python& queries) const;
  /// Reads global tokens: is_global[q_idx] | is_global[kv_idx]. Nothing for other expressions.
  std::optional<Condition> global(const Python& left, const Python& right) const;
  /// Reads a tree by its numbering: (tin[kv_idx] <= tin[q_idx]) & (tin[q_idx] < tout[kv_idx]).
  /// Nothing for other comparisons.
  std::optional<Condition> tree(const Python& a, const Python& b) const;
  /// Reads positions[kv_idx] <= positions[q_idx]. Nothing for other comparisons.
  std::optional<Condition> positions(const Python& given) const;
  /// The name of the ids in a comparison such as doc_id[q_idx] == doc_id[kv_idx]; null for others.
  const std::string* compared_ids(const Python& given) const;
  /// The name of the ids in a comparison that excludes padding, doc_id[q_idx] != -1 (or with
  /// kv_idx); null for others.
  const std::string* unpadded_ids(const Python& given) const;
  /// The rule of documents for compared ids. `padded`: the id -1 is padding.
  Condition documents(const Python& given, bool padded) const;

 private:
  /// The array that `axis` indexes, as in doc_id[q_idx] or doc_id[b, q_idx]; null for others.
  const Python* indexed(const Python& value, std::string_view axis) const;
  /// The ids that two operands read, one with q_idx and the other with kv_idx; null for others.
  const Python* ids_of(const Python& left, const Python& right) const;
  std::optional<Linear> linear(const Python& given) const;
  std::optional<Linear> linear_word(const Python& given) const;
  /// The operand of `value // by` or `value % by`; sets `by`. Nothing for other expressions.
  std::optional<Linear> scaled(const Python& given, std::string_view sign, Index& by) const;
  Align aligned(Index shift, Index position) const;
  /// True if the rows in `form` are counted as rows of the mask or, in transformers' way, from the
  /// first cached token: it has q_idx, or q_idx + Q_LEN - KV_LEN.
  bool counts_rows(const Linear& form) const;

  std::optional<MaskPart> at_most(const Linear& form, Index position) const;  // form <= 0, as steps
  Condition below(const Linear& form, Index position) const;  // form <= 0 and its negation
  Condition equal_to_zero(const Linear& form, Index position) const;
  std::optional<Condition> absolute(const Python& left, std::string_view sign, const Python& right,
                                    Index position) const;
  /// q_idx // N and kv_idx // N, and sums of them and numbers.
  struct Blocks;
  std::optional<Blocks> blocks_of(const Python& given) const;
  Condition blocks_at_most(const Blocks& sum, Index number, Index position) const;
  std::optional<Condition> blocks(const Python& left, std::string_view sign, const Python& right,
                                  Index position) const;
  /// The array that a kv_idx or q_idx indexes in a comparison of two such; with sides exchanged so
  /// that the sign is "<" or "<=".
  struct Order;
  std::optional<Order> order_of(const Python& given) const;
  std::optional<Condition> dilated(const Python& left, const Python& right) const;
  std::optional<Condition> per_batch(const Python& given, std::string_view sign,
                                     const Python& limit) const;

  const LibrarySource& source_;
  Align rows_;
};

}  // namespace maskctl
