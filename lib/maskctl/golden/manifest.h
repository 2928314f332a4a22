// The TOML file that lists golden masks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/golden/record.h"

namespace maskctl {

/// A part of the text of a manifest, as lines and columns (code points) from 1 on; lines are 0
/// where there is none.
struct TextRegion {
  Index begin_line = 0, begin_column = 0, end_line = 0, end_column = 0;  // the end is past it
};

/// One [[golden]] table: a mask, and what it must be.
struct GoldenEntry {
  enum class Expect : std::uint8_t {
    kDrawing,  // a text file: the mask drawn in ASCII
    kSha256,   // content_digest()
    kStats,    // a JSON file: golden_stats()
    kArray,    // a file with a mask
    kHolds,    // expectations, as in `check --expect`
    kVerdict,  // a kernel's run obeys the mask
  };

  /// One key of `expect`.
  struct Expected {
    Expect expect = Expect::kSha256;
    std::string value;               // the digest, the file or the verdict
    std::vector<std::string> holds;  // for kHolds
    TextRegion region;               // where the value stands
  };

  std::string name;                     // unique in its manifest
  std::string source;                   // as on the command line
  std::string as;                       // kind, or "blockmap:QxK"; empty if the content decides
  std::vector<std::string> transforms;  // pipelines, in order
  std::int32_t pad_id = -1;
  bool keep_value_is_zero = false;
  std::optional<double> closed_below;
  std::optional<std::vector<Index>> shape;  // [B,H,Q,K], where the array does not say it
  /// For kVerdict: NAME and value of the kernel's arguments and results, as in `verify`.
  std::vector<std::pair<std::string, std::string>> kernel;
  Index batch = 0, head = 0;       // the plane to draw, for kDrawing
  std::vector<Expected> expected;  // at least one; all must be so
  /// The mask that the digest was taken of. Explains a difference; the mask is never held to it.
  std::optional<GoldenRecord> was;
  Index line = 0;                                       // line of the entry
  Index as_line = 0, transforms_line = 0;               // lines of these keys; 0 if absent
  TextRegion source_region, expect_region, was_region;  // where these values stand

  /// Null if it is not expected.
  const Expected* find(Expect expect) const;
};

struct Manifest {
  std::string path, text;
  std::vector<GoldenEntry> entries;
};

/// Throws Error(kFormat) that names file, line and key ("golden.toml:3: key 'sorce' is unknown; did
/// you mean 'source'?") for text that is not TOML, missing keys, values of another type, duplicate
/// names, malformed digests, and entries without an expectation.
Manifest parse_manifest(const std::string& path, std::string text);
/// Throws Error(kIo) when it cannot be read, Error(kLimit) above 16 MiB.
Manifest read_manifest(const std::string& path);

/// The digest and record that an entry has now.
struct GoldenValue {
  std::string digest;
  GoldenRecord was;
};
/// The text of the manifest with the digests and records of these entries (by name) replaced; a
/// record that was not there goes below what is expected. Nothing else changes.
std::string with_values(const Manifest& manifest, const std::map<std::string, GoldenValue>& values);

/// A text as TOML writes it, in double quotes.
std::string toml_text(std::string_view text);

}  // namespace maskctl
