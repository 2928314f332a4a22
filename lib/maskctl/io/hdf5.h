// HDF5 files, through the helper program maskctl-hdf5: neither the library nor the command links
// it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/io/array_io.h"
#include "maskctl/io/byte_source.h"
#include "maskctl/io/npy.h"
#include "maskctl/io/read_options.h"

namespace maskctl {

/// Which program opens HDF5 files, and after how many seconds without progress, or of computing
/// between two pieces of data, it is stopped. An empty path (the start) looks beside the running
/// program, in ../libexec/maskctl and ../app from there, then where it was installed; 0 seconds are
/// 60. For the whole process, from now on.
void set_hdf5_helper(std::string path, Index seconds = 0);

struct Hdf5Dataset {
  std::string path;
  std::string dtype;                        // as numpy: "|b1", "<f4"; else its class: "compound"
  std::optional<std::vector<Index>> shape;  // nothing for a null dataspace and a virtual dataset
  std::string storage;                      // "contiguous", "chunked 64,64", "external", ...
  std::vector<std::string> filters;         // "gzip 4", "shuffle"
};

struct Hdf5Attribute {
  std::string object;  // "/" is the file
  std::string name;
  std::string value;  // text; numbers in decimal, several as [1, 2]
};

/// An object that the library refuses, of a newer version say; the others are listed all the same.
struct Hdf5Unreadable {
  std::string path, reason;
};

struct Hdf5Listing {
  std::vector<Hdf5Dataset> datasets;  // every one once, under its first name
  std::vector<std::string> groups;    // without the root
  std::vector<std::string> links;     // soft and external links, which are not followed
  std::vector<Hdf5Attribute> attributes;
  std::vector<Hdf5Unreadable> unreadable;

  const Hdf5Dataset* find(std::string_view path) const;
  /// Nothing when the object has no such attribute.
  std::optional<std::string> attribute(std::string_view object, std::string_view name) const;
};

/// What a file holds; a pipe is read whole, up to max_bytes. Throws Error; a crash or hang of the
/// HDF5 library is one too.
Hdf5Listing list_hdf5(ByteSource source, const ReadOptions& options = {});

/// A dataset by parts. Unbroken data are read from the file itself, by several threads at once;
/// chunked and packed data come from the helper in order, a few dozen MiB at a time. `dataset` is
/// "/group/mask"; when empty, the only one of two axes or more, or the only one at all. No other
/// file is opened: virtual datasets, external storage and external links are refused. Throws Error.
std::shared_ptr<NpyReader> open_hdf5(ByteSource source, const std::string& dataset,
                                     const ReadOptions& options = {});

/// A file written dataset by dataset; it appears whole or not at all. Bools are h5py's enumeration,
/// bfloat16 two opaque bytes. When appending, the other objects stay, and force replaces a dataset.
class Hdf5Writer {
 public:
  /// `dest` is a path or "-". Throws Error(kIo) when it exists and neither force nor append is set.
  explicit Hdf5Writer(const std::string& dest, const WriteOptions& options = {});
  ~Hdf5Writer();
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  /// Starts a dataset; groups on its path are made. The one before must be complete.
  void begin(const std::string& path, DType dtype, const std::vector<Index>& shape);
  /// Its next elements in C order, native byte order.
  void write(std::span<const std::byte> elements);
  void dataset(const std::string& path, const Tensor& tensor);
  /// A text on a dataset or a group ("/" is the file); the group is made where it is missing.
  void attribute(const std::string& object, const std::string& name, const std::string& value);
  /// Makes the file visible. Throws Error(kInvalidArgument) when a dataset is not complete.
  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace maskctl
