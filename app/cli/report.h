// What info, stats and ops found out, and its JSON form.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/inspect/stats.h"
#include "maskctl/mask/mask.h"
#include "maskctl/pipeline/ops.h"

namespace maskctl::app {

/// An array as it is stored.
struct ArrayReport {
  std::string name;
  std::string dtype;
  std::vector<Index> shape;
};

/// One SOURCE of `info`: a mask, or arrays that do not say which mask they are.
struct InfoReport {
  std::string source;
  std::optional<Mask> mask;
  std::string kind;
  std::string polarity;  // "1" or "0": the value that may attend
  Index open = 0;
  std::string tier;
  Index bytes = 0;
  std::vector<ArrayReport> arrays;  // of the source
  std::vector<std::string> fits;    // kinds to choose from with --as
  std::vector<std::string> notes;
};

/// One object, ended by a line feed: {"schema": "maskctl.info/1", ...}.
std::string info_json(std::span<const InfoReport> reports);
std::string stats_json(std::string_view source, const Mask& mask, const Stats& stats);
std::string ops_json(std::span<const OpInfo* const> ops);

/// How a mask is held: "bands", "runs", "words", "computed"; several joined by "+".
std::string tier(const Mask& mask);
/// Bytes of its distinct planes.
Index bytes_held(const Mask& mask);

}  // namespace maskctl::app
