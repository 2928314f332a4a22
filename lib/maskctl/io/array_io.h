// Arrays by name: SOURCE and DEST texts to tensors and back.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/io/streams/array_writer.h"
#include "maskctl/io/streams/named_arrays.h"
#include "maskctl/io/streams/options.h"
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
/// message starts with the name once: "m.npz: 3 arrays (mask, seg, lens), named as m.npz:mask".
Tensor read_array(const std::string& source, const ReadOptions& options = {},
                  std::vector<std::string>* notes = nullptr);

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
