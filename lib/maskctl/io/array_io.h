// Reads and writes arrays by name: SOURCE texts name arrays to read, DEST texts where to write.
#pragma once

#include <memory>
#include <optional>
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

/// Splits "f.npz:KEY" into file and key. If a file has the whole text as its name, there is no key;
/// else the longest part before a colon that names an existing file is the file; else the file ends
/// with ".npz", ".safetensors" or ".h5". "-:KEY" is an array of a container on standard input.
SourceName parse_source_name(std::string_view text);

/// Whether a file name ends as those of a format do: ".npy", ".npz", ".safetensors", ".h5".
bool has_array_suffix(std::string_view path);

/// Reads the array that a SOURCE names: "a.npy", "m.npz:KEY", "m.safetensors:NAME", a container
/// that has only one array, or "-". The format is recognised by the content, not by the suffix.
/// Notes, such as one about spare bytes, are appended to `notes`. Throws Error whose message starts
/// with the name: "m.npz: 3 arrays (mask, seg, lens), named as m.npz:mask".
Tensor read_array(const std::string& source, const ReadOptions& options = {},
                  std::vector<std::string>* notes = nullptr);

/// A file format for arrays (formats/formats.h).
struct FileFormat;

struct DestName {
  std::string path;          // "-" is standard output
  std::string member;        // the name in a container; empty when none was given
  const FileFormat* format;  // the format that the suffix of `path` means

  /// True if files of the format hold several named arrays.
  bool is_container() const;
};
/// Splits a DEST into file, array name and format: "m.npz", "m.npz:KEY", "m.safetensors:NAME",
/// "m.h5:/GROUP/NAME" (also with .hdf5, or with "::"). Everything else, including "-", is a .npy
/// file. Throws Error(kInvalidArgument) for "m.npz:", which a script writes whose variable is not
/// set.
DestName parse_dest_name(std::string_view text);

/// What is in the file of a DEST before it is written.
struct DestContent {
  struct Array {
    std::string name;   // made printable
    std::string dtype;  // "bool"; for types that cannot be read, the name in the file: "<c8"
    std::vector<Index> shape;
  };
  std::vector<Array> arrays;
  std::optional<Array> named;  // the array that the DEST names, if it is there

  /// "3 arrays (mask, ids, weights)"; long lists are cut.
  std::string text() const;
};
/// Nothing if there is no file, or no container that can be read.
std::optional<DestContent> dest_content(const std::string& dest);
/// Throws the Error that writing to the file of `dest` would throw, such as that it exists; for
/// callers that want to know before long work. Arrays in the file are not looked at.
void check_dest(const std::string& dest, const WriteOptions& options);

/// Starts to write an array to any DEST. Most formats are written while the data comes; an .npz
/// needs checksums first and is written at the end. In a container, an array without a key is
/// called "arr_0", as in np.savez. Throws Error(kLimit) before anything is written if the file
/// would exceed max_bytes or the free disk space, or if the whole array must be in memory and
/// exceeds max_bytes. Here and below, an array with a key is added to its file, whose other arrays
/// are kept; Error(kIo) says that there is one of this name already, unless options.force is set.
std::unique_ptr<ArrayWriter> array_writer(const std::string& dest, DType dtype,
                                          std::vector<Index> shape, const WriteOptions& options,
                                          Index max_bytes);

/// Writes an array to "a.npy" (or a name with an unknown suffix), "m.npz" (as "arr_0"),
/// "m.npz:KEY", "m.safetensors:NAME", or "-" (as .npy). Throws Error(kInvalidArgument) for
/// options.gzip when the format has no compression.
void write_array(const std::string& dest, const Tensor& tensor, const WriteOptions& options = {});
/// Writes an array whose elements are produced in pieces, like write_array() above. The array's
/// name comes from `dest`; array.spec.name is ignored.
void write_array(const std::string& dest, const ArrayStream& array,
                 const WriteOptions& options = {});

/// Writes all arrays into one container. If the DEST has a key, "KEY/" is put before their names.
/// "-" is an .npz on standard output. Throws Error(kInvalidArgument) for a DEST whose format holds
/// only one array.
void write_arrays(const std::string& dest, std::span<const ArrayRef> arrays,
                  const WriteOptions& options = {});
void write_arrays(const std::string& dest, std::span<const ArrayStream> arrays,
                  const WriteOptions& options = {});

/// Writes all arrays into one .npz at `dest`, which is a path or "-".
void write_npz(const std::string& dest, std::span<const NamedTensor> arrays,
               const WriteOptions& options = {});

}  // namespace maskctl
