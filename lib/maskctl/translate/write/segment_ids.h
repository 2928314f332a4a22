// What libraries with segment ids for documents and padding share; private to the layer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "maskctl/translate/mask_form.h"
#include "maskctl/translate/translate.h"

namespace maskctl {

/// The band as sides around a diagonal that is moved by `by`, so that no side is negative.
struct MovedBand {
  std::optional<Index> left, right;
  Index by = 0;

  explicit MovedBand(const MaskForm& mask);
  bool empty() const { return (left && *left < 0) || (right && *right < 0); }
  bool window() const { return left || (right && *right != 0); }
  bool causal() const { return right == Index{0}; }
  /// "offset=KV_LEN - Q_LEN + 1", or "" for none.
  std::string offset(bool bottom_right, std::string_view shift) const;
};

/// Refuses what splash and MaskInfo have no argument for; true if it did.
bool refuses_form(const MaskForm& mask, Translation& out);
/// Adds the line that defines doc_id, the document of each token, and for which lengths it holds.
void add_document_ids(const MaskForm& mask, Translation& out);
/// Adds lines that define the ids of keys: 0 for valid ones, `closed` for padding.
void add_padding_ids(const MaskForm& mask, std::string_view keys, int closed, Translation& out);

}  // namespace maskctl
