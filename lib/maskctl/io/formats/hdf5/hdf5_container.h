// An HDF5 file as a container of arrays.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/io/formats/container.h"
#include "maskctl/io/formats/hdf5/hdf5.h"
#include "maskctl/io/formats/hdf5/hdf5_process.h"

namespace maskctl {

/// Keys are paths of datasets. The helper starts when it is first needed.
class Hdf5Container final : public Container {
 public:
  /// A pipe and standard input are copied into memory, up to options.max_bytes.
  Hdf5Container(ByteSource source, const ReadOptions& options);

  const std::string& name() const override { return name_; }
  const std::vector<std::string>& keys() const override;
  /// An empty key means the only dataset with two axes or more, or the only one at all.
  OpenArray open(const std::string& key, const ReadOptions& options,
                 std::vector<std::string>& notes) override;
  ContainerOutline outline() override;

  std::string key_of(const std::string& text) const override { return path_of(text); }
  /// Opens a path from the root at once, which saves a run of the helper.
  bool contains(const std::string& key) const override;
  /// Always empty: the helper chooses, in the same run in which it reads.
  const std::string& only_key() const override;

  std::shared_ptr<NpyReader> reader(const std::string& key) const;
  const Hdf5Listing& listing() const;

  /// Converts "group/mask" and ":/group/mask" to "/group/mask".
  static std::string path_of(std::string_view key);

 private:
  Hdf5Process::Plan plan(std::vector<std::string> words, const std::string& label) const;

  std::string name_;  // for messages
  std::string path_;  // a path that this process can open
  OwnedFd memory_;    // what was read from a pipe
  ReadOptions options_;
  mutable std::optional<Hdf5Listing> listing_;
  mutable std::optional<std::vector<std::string>> keys_;
  // From one run of the helper, besides the answer: the dataset `opened_`, or why the file alone
  // does not determine one.
  mutable std::string opened_;
  mutable std::shared_ptr<NpyReader> reader_;
  mutable std::optional<Error> no_choice_;
};

}  // namespace maskctl
