// A readable record of the mask of which a digest was taken.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/mask/mask.h"

namespace maskctl {

/// A digest only tells that a mask has changed; the record tells what it was before. Shape and
/// count are always recorded. The cells are recorded as `pipeline` if some pipeline gives exactly
/// this mask, at any size; else as `rows` if they are few; else not at all.
struct GoldenRecord {
  std::array<Index, 4> shape{};         // batch, heads, queries, keys
  Index open = 0;                       // open cells
  std::optional<std::string> pipeline;  // gives the mask when applied to a full one; "": all open
  /// A line for each range of equal rows: "3: 0-1+3" means that query 3 sees the keys 0, 1 and 3
  /// (both ends of a range are included), "4-6: 0" is three equal rows. A row that is not listed
  /// sees nothing. If there are several planes, the line "batch 0, head 1" comes before the rows of
  /// each; "batch 0, head 1 as batch 0, head 0" means equal planes.
  std::vector<std::string> rows;

  friend bool operator==(const GoldenRecord&, const GoldenRecord&) = default;
};

/// Pipelines and rows are recorded only up to this number of bytes.
inline constexpr std::size_t kMostRecorded = 16384;

GoldenRecord record_of(const Mask& mask);

/// The mask of a record; nothing if its cells are not recorded. Throws Error(kFormat) for rows that
/// cannot be read, PipelineError for a pipeline that cannot be parsed.
std::optional<Mask> recorded_mask(const GoldenRecord& record);

}  // namespace maskctl
