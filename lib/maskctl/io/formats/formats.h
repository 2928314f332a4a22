// The file formats of arrays. Each is one folder beside this file, with a row in it, and one name
// in the list below.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "maskctl/io/formats/container.h"
#include "maskctl/io/streams/array_writer.h"
#include "maskctl/io/streams/named_arrays.h"
#include "maskctl/io/streams/options.h"

namespace maskctl {

struct FileFormat {
  std::string_view name;                     // ".npz", "HDF5"
  std::array<std::string_view, 2> suffixes;  // of files to write; the first stands in messages
  std::string_view wanted;                   // "an .npz", as in "adding arrays needs an .npz"
  std::string_view looks_like;               // "a zip archive (.npz)", from the first bytes alone
  /// Whether the content is of this format; only peeks.
  bool (*recognise)(ByteSource& source);
  std::unique_ptr<Container> (*open)(ByteSource source, const ReadOptions& options);
  /// Writes several arrays to a path or "-", beside the old ones when options.append is set (see
  /// append.h). Null for a format of one array.
  void (*write)(const std::string& path, std::span<const ArrayStream> arrays,
                const WriteOptions& options) = nullptr;
  /// Starts to write one array part by part. Null if an array must be held whole and given to
  /// `write`.
  std::unique_ptr<ArrayWriter> (*begin)(const std::string& path, const ArraySpec& array,
                                        const WriteOptions& options) = nullptr;
  bool compresses = false;  // as options.gzip says

  bool is_container() const { return write != nullptr; }
};

/// Functions for `open` and `begin` of a row, from classes with constructors like these.
template <typename T>
std::unique_ptr<Container> opened(ByteSource source, const ReadOptions& options) {
  return std::make_unique<T>(std::move(source), options);
}
template <typename T>
std::unique_ptr<ArrayWriter> begun(const std::string& path, const ArraySpec& array,
                                   const WriteOptions& options) {
  return std::make_unique<T>(path, array, options);
}

extern const FileFormat kNpyFormat, kNpzFormat, kSafetensorsFormat, kHdf5Format;

/// In the order in which content is recognised and messages list them. HDF5 is last: it looks
/// beyond the first bytes.
inline constexpr const FileFormat* kFileFormats[] = {&kNpyFormat, &kNpzFormat, &kSafetensorsFormat,
                                                     &kHdf5Format};

/// What the first bytes of a file look like.
struct FileLook {
  const FileFormat* format;      // null for files that hold no arrays we read
  std::string_view description;  // "an HDF5 file", "text", "an empty file"
  std::string_view remedy;       // how to get arrays out of such a file: "; unpack it first"
};

/// Looks at the first bytes without consuming them; works for pipes.
FileLook look_at(ByteSource& source);

/// The first `count` bytes as text, fewer at the end; valid until the next peek.
std::string_view peek_text(ByteSource& source, Index count);

/// ".npz, .safetensors or .h5": the words of all formats, without empty ones.
std::string formats_text(std::string_view (*word)(const FileFormat& format));

}  // namespace maskctl
