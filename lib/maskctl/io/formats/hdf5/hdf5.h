// Reads and writes HDF5 files through the helper program maskctl-hdf5; neither the library nor the
// command links HDF5.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/io/formats/npy/npy.h"
#include "maskctl/io/streams/byte_source.h"
#include "maskctl/io/streams/named_arrays.h"
#include "maskctl/io/streams/options.h"

namespace maskctl {

struct Hdf5Dataset {
  std::string path;
  std::string dtype;  // of numpy: "|b1", "<f4"; else the HDF5 class: "compound"
  std::optional<std::vector<Index>> shape;  // nothing for null and virtual dataspaces
  std::string storage;                      // "contiguous", "chunked 64,64", "external", ...
  std::vector<std::string> filters;         // "gzip 4", "shuffle"
};

struct Hdf5Attribute {
  std::string object;  // path of a dataset or group; "/" is the file
  std::string name;
  std::string value;  // numbers are decimal, several are listed as [1, 2]
};

/// An object that the HDF5 library cannot open, for example because it is of a newer version. The
/// other objects are listed nevertheless.
struct Hdf5Unreadable {
  std::string path, reason;
};

struct Hdf5Listing {
  std::vector<Hdf5Dataset> datasets;  // each once, under the first of its names
  std::vector<std::string> groups;    // paths of groups, without the root group "/"
  std::vector<std::string> links;     // soft and external links, which are not followed
  std::vector<Hdf5Attribute> attributes;
  std::vector<Hdf5Unreadable> unreadable;

  const Hdf5Dataset* find(std::string_view path) const;
  /// The value of an attribute; nothing if the object does not have it.
  std::optional<std::string> attribute(std::string_view object, std::string_view name) const;
};

/// Lists what a file holds. A pipe is first read whole, up to max_bytes. If the HDF5 library
/// crashes or hangs, an Error is thrown.
Hdf5Listing list_hdf5(ByteSource source, const ReadOptions& options = {});

/// Opens a dataset, to be read by parts. Contiguous data is read directly from the file, also by
/// several threads at once; chunked and compressed data comes from the helper in order, a few dozen
/// MiB at a time. `dataset` is a path such as "/group/mask"; if it is empty, the only dataset with
/// two or more axes is opened, or else the only dataset. No other file is opened: virtual datasets,
/// external storage and external links are refused. Throws Error.
std::shared_ptr<NpyReader> open_hdf5(ByteSource source, const std::string& dataset,
                                     const ReadOptions& options = {});

/// Writes a file dataset by dataset; no file appears until commit(). Bools are written as h5py's
/// enumeration, bfloat16 as two opaque bytes. With options.append the objects of the old file are
/// kept; options.force then allows a dataset to be replaced.
class Hdf5Writer {
 public:
  /// `dest` is a path or "-". Throws Error(kIo) if the file exists and neither force nor append is
  /// set.
  explicit Hdf5Writer(const std::string& dest, const WriteOptions& options = {});
  ~Hdf5Writer();
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  /// Must be called before anything at or below `path` is written. Removes the objects there that
  /// are not written again. Throws if there are any, unless options.force is set.
  void take(const std::string& path);
  /// Starts a dataset and creates the groups in its path. The previous dataset must be complete.
  void begin(const std::string& path, DType dtype, const std::vector<Index>& shape);
  /// Writes the next elements of the dataset, in C order and native byte order.
  void write(std::span<const std::byte> elements);
  void dataset(const std::string& path, const Tensor& tensor);
  /// Sets a text attribute of a dataset or a group ("/" is the file). A group that does not exist
  /// is created.
  void attribute(const std::string& object, const std::string& name, const std::string& value);
  /// Puts the file in place. Throws Error(kInvalidArgument) when a dataset is not complete.
  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace maskctl
