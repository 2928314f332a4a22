// The file formats of arrays. Each has a folder beside this file, which defines its FileFormat, and
// an entry in the list below.
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
  std::array<std::string_view, 2> suffixes;  // of file names in this format; messages use the first
  std::string_view wanted;                   // the format with its article, for messages: "an .npz"
  std::string_view looks_like;               // what files of the format are: "a zip archive (.npz)"
  /// True if the content is of this format. Only peeks: consumes nothing.
  bool (*recognise)(ByteSource& source);
  std::unique_ptr<Container> (*open)(ByteSource source, const ReadOptions& options);
  /// Writes several arrays to a path or "-"; with options.append, keeps the arrays that the file
  /// already has (see append.h). `name` is that of the DEST: the arrays are below it, or one is of
  /// this name. Null for a format of one array.
  void (*write)(const std::string& path, const std::string& name,
                std::span<const ArrayStream> arrays, const WriteOptions& options) = nullptr;
  /// Starts to write one array part by part. Null for formats that need the whole array at once:
  /// then `write` must be used.
  std::unique_ptr<ArrayWriter> (*begin)(const std::string& path, const ArraySpec& array,
                                        const WriteOptions& options) = nullptr;
  bool compresses = false;  // true if options.gzip is supported

  bool is_container() const { return write != nullptr; }
};

/// opened<T> and begun<T> construct a T, a Container or an ArrayWriter: functions to which the
/// members `open` and `begin` of a FileFormat can point.
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

/// In the order in which content is recognised and messages list the formats. HDF5 is last because
/// it is recognised by more than the first bytes.
inline constexpr const FileFormat* kFileFormats[] = {&kNpyFormat, &kNpzFormat, &kSafetensorsFormat,
                                                     &kHdf5Format};

/// What the first bytes of a file look like.
struct FileLook {
  const FileFormat* format;      // null for files without arrays that we can read
  std::string_view description;  // "an HDF5 file", "text", "an empty file"
  std::string_view
      remedy;  // if `format` is null: what the user can do about it, such as "; unpack it first"
};

/// Identifies the first bytes without consuming them; works for pipes.
FileLook look_at(ByteSource& source);

/// The first `count` bytes as text, or all if there are fewer. Valid until the next peek.
std::string_view peek_text(ByteSource& source, Index count);

/// Joins the texts word(format) of all formats, without empty ones: ".npz, .safetensors or .h5".
std::string formats_text(std::string_view (*word)(const FileFormat& format));

}  // namespace maskctl
