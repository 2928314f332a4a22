// Functions for libraries that use segment ids for documents and padding; private to the layer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "maskctl/translate/mask_form.h"
#include "maskctl/translate/translate.h"

namespace maskctl {

/// The band as two sides that are not negative, around a diagonal moved by `by` keys.
struct MovedBand {
  std::optional<Index> left, right;
  Index by = 0;

  explicit MovedBand(const MaskForm& mask);
  bool empty() const { return (left && *left < 0) || (right && *right < 0); }
  bool window() const { return left || (right && *right != 0); }
  bool causal() const { return right == Index{0}; }
  /// The argument for the moved diagonal, such as "offset=KV_LEN - Q_LEN + 1"; "" if it is not
  /// moved.
  std::string offset(bool bottom_right, std::string_view shift) const;
};

/// Refuses what neither splash nor MaskInfo can express. Returns true if it did.
bool refuses_form(const MaskForm& mask, Translation& out);
/// Adds the line that defines doc_id, the document of each token, and a note of the lengths for
/// which it is valid.
void add_document_ids(const MaskForm& mask, Translation& out);
/// Adds lines that define the ids of keys: 0 for valid keys, `closed` for padding.
void add_padding_ids(const MaskForm& mask, std::string_view keys, int closed, Translation& out);

}  // namespace maskctl
