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

/// A part of the text of a manifest, given by lines and columns (in code points) from 1 on. All are
/// 0 if there is no such part.
struct TextRegion {
  Index begin_line = 0, begin_column = 0, end_line = 0, end_column = 0;  // the end is exclusive
};

/// One [[golden]] table: a mask, and what is expected of it.
struct GoldenEntry {
  enum class Expect : std::uint8_t {
    kDrawing,  // a text file with a drawing of the mask in ASCII
    kSha256,   // a digest, see content_digest()
    kStats,    // a JSON file, see golden_stats()
    kArray,    // a file with the same mask
    kHolds,    // expectations, as in `check --expect`
    kVerdict,  // the run of a kernel used this mask
  };

  /// One key of the table `expect`.
  struct Expected {
    Expect expect = Expect::kSha256;
    std::string value;               // the digest, the file or the verdict
    std::vector<std::string> holds;  // for kHolds
    TextRegion region;               // position of the value in the manifest
  };

  std::string name;                     // unique in the manifest
  std::string source;                   // a SOURCE, as on the command line
  std::string as;                       // kind of array, or "blockmap:QxK"; empty: by content
  std::vector<std::string> transforms;  // pipelines, applied in this order
  std::int32_t pad_id = -1;
  bool keep_value_is_zero = false;
  std::optional<double> closed_below;
  std::optional<std::vector<Index>> shape;  // [B,H,Q,K], if the array does not determine it
  /// For kVerdict: names and values of the kernel's arguments and results, as in `verify`.
  std::vector<std::pair<std::string, std::string>> kernel;
  Index batch = 0, head = 0;       // for kDrawing: which plane is drawn
  std::vector<Expected> expected;  // at least one; all must hold
  /// What was recorded with the digest. It only serves to explain how a mask differs; the mask
  /// itself is compared with the digest.
  std::optional<GoldenRecord> was;
  Index line = 0;                          // where the entry begins
  Index as_line = 0, transforms_line = 0;  // 0 if the key is absent
  // Positions of `source`, `expect` and `was` in the manifest.
  TextRegion source_region, expect_region, was_region;

  /// The expectation of this type in the entry; null if there is none.
  const Expected* find(Expect expect) const;
};

struct Manifest {
  std::string path, text;
  std::vector<GoldenEntry> entries;
};

/// Parses the text of a manifest. Throws Error(kFormat) that names file, line and key
/// ("golden.toml:3: key 'sorce' is unknown; did you mean 'source'?") for text that is not TOML,
/// missing keys, values of the wrong type, duplicate names, malformed digests, and entries that
/// expect nothing.
Manifest parse_manifest(const std::string& path, std::string text);
/// Reads a manifest file. Throws Error(kIo) when it cannot be read, Error(kLimit) above 16 MiB.
Manifest read_manifest(const std::string& path);

/// The new digest and record of an entry.
struct GoldenValue {
  std::string digest;
  GoldenRecord was;
};
/// The text of the manifest with new digests and records for these entries (by name). A record that
/// was not there is added below `expect`. Nothing else changes.
std::string with_values(const Manifest& manifest, const std::map<std::string, GoldenValue>& values);

/// A string in double quotes as TOML writes it.
std::string toml_text(std::string_view text);

}  // namespace maskctl
