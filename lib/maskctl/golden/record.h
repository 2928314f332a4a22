// What a mask was when its digest was taken, in words that a reviewer can read.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/mask/mask.h"

namespace maskctl {

/// A digest says that a mask has changed; this says from what. Shape and count are always there;
/// the cells as `pipeline` where a chain of steps gives exactly this mask, at any size, else as
/// `rows` where they are few, else not at all.
struct GoldenRecord {
  std::array<Index, 4> shape{};         // batch, heads, queries, keys
  Index open = 0;                       // open cells
  std::optional<std::string> pipeline;  // gives the mask when applied to an open one; "": all open
  /// "3: 0-1+3" (query 3 sees the keys 0, 1 and 3; both ends included), "4-6: 0" for equal rows; a
  /// row that is not listed sees nothing. With several planes each begins with "batch 0, head 1",
  /// or is "batch 0, head 1 as batch 0, head 0".
  std::vector<std::string> rows;

  friend bool operator==(const GoldenRecord&, const GoldenRecord&) = default;
};

/// Pipelines and rows of more bytes are left out.
inline constexpr std::size_t kMostRecorded = 16384;

GoldenRecord record_of(const Mask& mask);

/// The mask of a record; nothing when its cells are not kept. Throws Error(kFormat) for text that
/// is not such a record, PipelineError for a pipeline that is none.
std::optional<Mask> recorded_mask(const GoldenRecord& record);

}  // namespace maskctl
