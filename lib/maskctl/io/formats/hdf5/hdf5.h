// HDF5 files, read and written by the helper program maskctl-hdf5: neither the library nor the
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

/// Sets which program opens HDF5 files, and after how many seconds without progress, or of
/// computing between two pieces of data, it is stopped. An empty path (the default) looks next to
/// the running program, in ../libexec/maskctl and ../app from there, then where it was installed; 0
/// seconds mean 60. Applies to the whole process from now on.
void set_hdf5_helper(std::string path, Index seconds = 0);

struct Hdf5Dataset {
  std::string path;
  std::string dtype;                        // as numpy: "|b1", "<f4"; else its class: "compound"
  std::optional<std::vector<Index>> shape;  // null for a null dataspace and a virtual dataset
  std::string storage;                      // "contiguous", "chunked 64,64", "external", ...
  std::vector<std::string> filters;         // "gzip 4", "shuffle"
};

struct Hdf5Attribute {
  std::string object;  // "/" is the file
  std::string name;
  std::string value;  // text; numbers in decimal, several as [1, 2]
};

/// An object that the HDF5 library refuses, for example of a newer version; the others are listed
/// all the same.
struct Hdf5Unreadable {
  std::string path, reason;
};

struct Hdf5Listing {
  std::vector<Hdf5Dataset> datasets;  // each once, under its first name
  std::vector<std::string> groups;    // without the root
  std::vector<std::string> links;     // soft and external links, which are not followed
  std::vector<Hdf5Attribute> attributes;
  std::vector<Hdf5Unreadable> unreadable;

  const Hdf5Dataset* find(std::string_view path) const;
  /// Nothing when the object has no such attribute.
  std::optional<std::string> attribute(std::string_view object, std::string_view name) const;
};

/// Lists what a file holds; a pipe is read whole, up to max_bytes. A crash or hang of the HDF5
/// library is an Error too.
Hdf5Listing list_hdf5(ByteSource source, const ReadOptions& options = {});

/// Opens a dataset to be read by parts. Contiguous data is read from the file itself, by several
/// threads at once; chunked and compressed data comes from the helper in order, a few dozen MiB at
/// a time. `dataset` is "/group/mask"; if empty, the only dataset with two axes or more, or the
/// only one at all. No other file is opened: virtual datasets, external storage and external links
/// are refused. Throws Error.
std::shared_ptr<NpyReader> open_hdf5(ByteSource source, const std::string& dataset,
                                     const ReadOptions& options = {});

/// Writes a file dataset by dataset; it appears whole or not at all. Bools are h5py's enumeration,
/// bfloat16 two opaque bytes. When appending, the other objects stay, and force replaces a dataset.
class Hdf5Writer {
 public:
  /// `dest` is a path or "-". Throws Error(kIo) when it exists and neither force nor append is set.
  explicit Hdf5Writer(const std::string& dest, const WriteOptions& options = {});
  ~Hdf5Writer();
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  /// Starts a dataset and creates the groups on its path. The previous one must be complete.
  void begin(const std::string& path, DType dtype, const std::vector<Index>& shape);
  /// The next elements of the dataset in C order, native byte order.
  void write(std::span<const std::byte> elements);
  void dataset(const std::string& path, const Tensor& tensor);
  /// Sets a text attribute of a dataset or a group ("/" is the file); creates a missing group.
  void attribute(const std::string& object, const std::string& name, const std::string& value);
  /// Makes the file visible. Throws Error(kInvalidArgument) when a dataset is not complete.
  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace maskctl
