// Arrays by name: SOURCE and DEST texts to tensors and back.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/io/formats/npy/npy.h"
#include "maskctl/io/named_arrays.h"
#include "maskctl/io/read_options.h"
#include "maskctl/io/streams/byte_source.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

struct SourceName {
  std::string path;    // "-" is standard input
  std::string member;  // the key after the colon; empty when none was given
};

/// Splits "f.npz:KEY". An existing file with the whole text as its name wins; next the longest
/// existing file before a colon; otherwise the text up to ".npz", ".safetensors" or ".h5". "-:KEY"
/// is an array of a container on standard input.
SourceName parse_source_name(std::string_view text);

/// Reads "a.npy", "m.npz:KEY", "m.safetensors:NAME", a container with one array, or "-". The
/// content decides, not the suffix. Notes (spare bytes) are appended to `notes`. Throws Error; its
/// message starts with the name once: "m.npz: 3 arrays (mask, seg, lens); choose one: m.npz:mask".
Tensor read_array(const std::string& source, const ReadOptions& options = {},
                  std::vector<std::string>* notes = nullptr);

struct WriteOptions {
  bool force = false;   // replace an existing file, or with append an existing array
  bool append = false;  // keep the other arrays of an existing container
  int gzip = 0;         // compression level 1 to 9 for HDF5 and .npz; 0: none
};

/// A file format of arrays (formats/formats.h).
struct FileFormat;

struct DestName {
  std::string path;          // "-" is standard output
  std::string member;        // the name in a container; empty when none was given
  const FileFormat* format;  // as the suffix says

  /// Whether files of the format hold several arrays.
  bool is_container() const;
};
/// "m.npz", "m.npz:KEY", "m.safetensors:NAME", "m.h5:/GROUP/NAME" (or .hdf5, "::"); anything else,
/// including "-", is an .npy.
DestName parse_dest_name(std::string_view text);

/// Where an array or text goes: a file that appears whole or not at all, or standard output ("-").
class ByteSink {
 public:
  /// `kind` (".npy") names the data when a terminal is refused: "refusing to write .npy to a
  /// terminal; use -o FILE or pipe it". An empty kind is text, which may go to a terminal.
  ByteSink(const std::string& dest, const WriteOptions& options, std::string_view kind);
  ~ByteSink();
  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Makes the file visible under its name. Without it the destructor leaves nothing behind.
  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Writes one array part by part.
class ArrayWriter {
 public:
  /// Throws Error(kShape) when the size of the array cannot be counted.
  explicit ArrayWriter(const ArraySpec& array);
  virtual ~ArrayWriter() = default;
  /// The next elements in C order, native byte order.
  void write(std::span<const std::byte> bytes);
  /// Makes the file visible. This and write() throw Error(kInvalidArgument) when fewer or more
  /// bytes were written than the shape needs.
  void commit();

 private:
  virtual void put(std::span<const std::byte> bytes) = 0;
  virtual void finish() = 0;

  Index remaining_;  // bytes
};

/// Starts an array at any DEST. Most formats are written as the data comes; an .npz, which needs
/// checksums first, at the end. An array of a container without a key is "arr_0", as np.savez names
/// it. Throws Error(kLimit), before anything is written, when the file would exceed max_bytes or
/// the free space on the disk, or when the array must be held whole and exceeds max_bytes.
std::unique_ptr<ArrayWriter> array_writer(const std::string& dest, DType dtype,
                                          std::vector<Index> shape, const WriteOptions& options,
                                          Index max_bytes);

/// Writes "a.npy" (and any other suffix), "m.npz" (key "arr_0"), "m.npz:KEY", "m.safetensors:NAME",
/// or "-" (.npy). Throws Error(kInvalidArgument) for options.gzip when the format has no
/// compression.
void write_array(const std::string& dest, const Tensor& tensor, const WriteOptions& options = {});
/// The name in array.spec is not read.
void write_array(const std::string& dest, const ArrayStream& array,
                 const WriteOptions& options = {});

/// Writes all arrays into one container at `dest`; their names are prefixed with "KEY/" when the
/// DEST has a key. "-" is an .npz on standard output. Throws Error(kInvalidArgument) for a DEST
/// that holds only one array.
void write_arrays(const std::string& dest, std::span<const ArrayRef> arrays,
                  const WriteOptions& options = {});
void write_arrays(const std::string& dest, std::span<const ArrayStream> arrays,
                  const WriteOptions& options = {});

/// Writes all arrays into one .npz at `dest`, a path or "-".
void write_npz(const std::string& dest, std::span<const NamedTensor> arrays,
               const WriteOptions& options = {});

}  // namespace maskctl
