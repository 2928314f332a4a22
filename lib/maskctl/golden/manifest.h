// The TOML file that lists golden masks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

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

  std::string name;                     // unique in its manifest
  std::string source;                   // as on the command line
  std::string as;                       // kind; empty if the content decides
  std::vector<std::string> transforms;  // pipelines, in order
  std::int32_t pad_id = -1;
  bool keep_value_is_zero = false;
  std::optional<double> closed_below;
  std::optional<std::vector<Index>> shape;  // [B,H,Q,K], for what the array does not carry
  /// For kVerdict: NAME and value of the kernel's arguments and results, as in `verify`.
  std::vector<std::pair<std::string, std::string>> kernel;
  std::vector<std::string> holds;  // for kHolds
  Index batch = 0, head = 0;       // the plane to draw, for kDrawing
  Expect expect = Expect::kSha256;
  std::string value;                       // the digest, the file or the verdict
  Index line = 0;                          // line of the entry
  Index value_line = 0;                    // line of `value`
  Index as_line = 0, transforms_line = 0;  // lines of these keys; 0 if absent
};

struct Manifest {
  std::string path, text;
  std::vector<GoldenEntry> entries;
};

/// Throws Error(kFormat) that names file, line and key ("golden.toml:3: key 'sorce' is unknown; did
/// you mean 'source'?") for text that is not TOML, missing keys, values of another type, duplicate
/// names, malformed digests, and entries without exactly one expectation.
Manifest parse_manifest(const std::string& path, std::string text);
/// Throws Error(kIo) when it cannot be read, Error(kLimit) above 16 MiB.
Manifest read_manifest(const std::string& path);

/// The text of the manifest with the digests of these entries (by name) replaced.
std::string with_digests(const Manifest& manifest,
                         const std::map<std::string, std::string>& digests);

}  // namespace maskctl
