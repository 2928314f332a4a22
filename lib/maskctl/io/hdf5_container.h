// An HDF5 file as a container of arrays.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/io/container.h"
#include "maskctl/io/hdf5.h"
#include "maskctl/io/hdf5_process.h"

namespace maskctl {

/// Keys are paths of datasets. The helper starts when something is asked.
class Hdf5Container final : public Container {
 public:
  /// A pipe and standard input are copied into memory, up to options.max_bytes.
  Hdf5Container(ByteSource source, const ReadOptions& options);

  const std::string& name() const override { return name_; }
  const std::vector<std::string>& keys() const override;
  /// An empty key is the only dataset of two axes or more, or the only one at all.
  OpenArray open(const std::string& key, const ReadOptions& options,
                 std::vector<std::string>& notes) override;

  std::string key_of(const std::string& text) const override { return path_of(text); }
  /// A path from the root is opened at once, which saves a run of the helper.
  bool contains(const std::string& key) const override;
  /// Empty: the helper chooses, in the same run in which it reads.
  const std::string& only_key() const override;

  std::shared_ptr<NpyReader> reader(const std::string& key) const;
  const Hdf5Listing& listing() const;

  /// "/group/mask" of "group/mask" and ":/group/mask".
  static std::string path_of(std::string_view key);

 private:
  Hdf5Process::Plan plan(std::vector<std::string> words, const std::string& label) const;

  std::string name_;  // for messages
  std::string path_;  // that this process can open
  OwnedFd memory_;    // what came from a pipe
  ReadOptions options_;
  mutable std::optional<Hdf5Listing> listing_;
  mutable std::optional<std::vector<std::string>> keys_;
  // What one run of the helper gave beside the answer: the dataset `opened_`, or why the file alone
  // names none.
  mutable std::string opened_;
  mutable std::shared_ptr<NpyReader> reader_;
  mutable std::optional<Error> no_choice_;
};

}  // namespace maskctl
