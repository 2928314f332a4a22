// The arrays of a call that are split over the ranks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/loader.h"
#include "maskctl/attention/sharded/rank_call.h"

namespace maskctl::app {

/// Files whose headers have been read, and random arrays that are not made yet.
class RankArrays {
 public:
  using Outlines = std::map<std::string, std::vector<Index>>;

  /// Whether NAME=VALUE is such an array, that is, one of floats in a file. `field` is null for
  /// cotangents and options.
  static bool takes(const attention::Field* field, std::string_view name, std::string_view value);
  void open(const std::string& name, const std::string& source, Loader& loader);
  bool contains(const std::string& name) const { return files_.contains(name); }
  std::map<std::string, attention::RandomOutline>& random() { return random_; }

  /// The shapes of all these arrays.
  Outlines outlines() const;
  /// A line for each array: "query float32 (1, 64, 4, 8), content 1f...". The hash is that of the
  /// file (hashes.h), so that the arrays of one container share it.
  std::string text() const;
  /// Reads and makes the parts that this rank needs. Call it once.
  attention::NamedResults read(const attention::RankCall& call);

 private:
  struct File {
    ArraySource array;
    std::uint64_t hash;
  };
  std::map<std::string, File> files_;
  std::map<std::string, attention::RandomOutline> random_;
};

}  // namespace maskctl::app
