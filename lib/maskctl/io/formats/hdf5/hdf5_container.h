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

/// Keys are the paths of datasets. The helper is started when something is read for the first time.
class Hdf5Container final : public Container {
 public:
  /// If the source is a pipe or standard input, it is copied into memory, up to options.max_bytes.
  Hdf5Container(ByteSource source, const ReadOptions& options);

  const std::string& name() const override { return name_; }
  const std::vector<std::string>& keys() const override;
  /// Opens a dataset. An empty key means the only dataset with two or more axes, or else the only
  /// dataset.
  OpenArray open(const std::string& key, const ReadOptions& options,
                 std::vector<std::string>& notes) override;
  ContainerOutline outline() override;

  std::string key_of(const std::string& text) const override { return path_of(text); }
  /// True if the file has this dataset. A key that starts with "/" is looked up by opening the
  /// dataset, which open() then uses: that saves one run of the helper.
  bool contains(const std::string& key) const override;
  /// Returns "", which lets the helper choose the dataset in the same run that reads it.
  const std::string& only_key() const override;

  std::shared_ptr<NpyReader> reader(const std::string& key) const;
  const Hdf5Listing& listing() const;

  /// Normalises a key: "group/mask" and ":/group/mask" become "/group/mask".
  static std::string path_of(std::string_view key);

 private:
  Hdf5Process::Plan plan(std::vector<std::string> words, const std::string& label) const;

  std::string name_;  // for messages
  std::string path_;  // a path of the file that can be opened, such as /dev/fd/N
  OwnedFd memory_;    // a memory file with the content of a pipe
  ReadOptions options_;
  mutable std::optional<Hdf5Listing> listing_;
  mutable std::optional<std::vector<std::string>> keys_;
  // Kept from one run of the helper: the dataset that it opened (`opened_` and `reader_`), or the
  // error that says why it could not choose one.
  mutable std::string opened_;
  mutable std::shared_ptr<NpyReader> reader_;
  mutable std::optional<Error> no_choice_;
};

}  // namespace maskctl
