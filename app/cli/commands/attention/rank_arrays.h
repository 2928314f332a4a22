// The arrays of a call that are split over ranks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/loader.h"
#include "maskctl/attention/sharded/rank_call.h"

namespace maskctl::app {

/// Array files of which only the headers have been read, and random arrays that are not generated
/// yet.
class RankArrays {
 public:
  using Outlines = std::map<std::string, std::vector<Index>>;

  /// True if NAME=VALUE is an array that is split over ranks: an array of floats in a file. `field`
  /// is null for cotangents and options.
  static bool takes(const attention::Field* field, std::string_view name, std::string_view value);
  void open(const std::string& name, const std::string& source, Loader& loader);
  bool contains(const std::string& name) const { return files_.contains(name); }
  std::map<std::string, attention::RandomOutline>& random() { return random_; }

  /// Returns the shapes of all arrays of this object before they are split, by name.
  Outlines outlines() const;
  /// A line for each array, such as "query float32 (1, 64, 4, 8), content 1f...". The hash is that
  /// of the whole file (hashes.h), so the arrays of one container have the same hash.
  std::string text() const;
  /// Reads or generates this rank's shard of each array. Call it once.
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
