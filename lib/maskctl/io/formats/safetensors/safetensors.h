// The safetensors format: a JSON header followed by raw little-endian data.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/io/formats/container.h"
#include "maskctl/io/formats/npy/npy.h"
#include "maskctl/io/streams/byte_source.h"
#include "maskctl/io/streams/named_arrays.h"
#include "maskctl/io/streams/options.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// One tensor of the header. Offsets are relative to the start of the data.
struct SafetensorsEntry {
  std::string name;
  std::string dtype_name;      // "BOOL", "F8_E4M3", ...
  std::optional<DType> dtype;  // nothing for types that cannot be read
  std::vector<Index> shape;
  Index begin = 0;
  Index end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of their data
  std::vector<Metadata> metadata;         // "__metadata__", in order
  Index data_offset = 0;                  // from the start of the file
  Index data_bytes = 0;
};

/// Reads the header at the position of `source`, which is at the data afterwards. Errors start with
/// the name of the source. kLimit: the header exceeds 100 MB or options.max_bytes (it is not
/// allocated). kFormat: it is not one JSON object of tensors and strings, has duplicate names or
/// sizes that do not fit the shapes, or the data overlaps, has gaps or is not as long as the file.
SafetensorsHeader read_safetensors_header(ByteSource& source, const ReadOptions& options = {});

/// The tensors of a safetensors file or pipe.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(ByteSource source, const ReadOptions& options = {});

  const std::string& name() const { return name_; }
  /// The names of the tensors, in the order of their data.
  const std::vector<std::string>& keys() const { return keys_; }
  bool contains(const std::string& key) const;
  const SafetensorsHeader& header() const { return header_; }

  /// Opens a tensor without reading data. In a pipe, tensors must be opened in the order of their
  /// data, and each must be read before the next is opened: that ends the previous reader. Throws
  /// Error(kInvalidArgument) for an unknown key (listing all keys) or one that a pipe has already
  /// passed, Error(kUnsupported) for a dtype that cannot be read.
  std::shared_ptr<NpyReader> open(const std::string& key);
  /// Reads a whole tensor. Throws Error(kLimit) before it allocates more than options.max_bytes.
  Tensor read(const std::string& key, const ReadOptions& options = {});

 private:
  const SafetensorsEntry& find(const std::string& key) const;

  std::string name_;
  std::shared_ptr<ByteSource> source_;
  SafetensorsHeader header_;
  std::vector<std::string> keys_;
  std::unordered_map<std::string, std::size_t> places_;  // of keys in header_.entries
};

/// The header for these tensors as the reference implementation writes it: its length, JSON without
/// blanks between tokens, and blanks up to a multiple of 8. The tensors of `kept` come first, with
/// their data first; its metadata is kept. Throws Error(kInvalidArgument) for names that are
/// duplicate, empty or reserved.
std::vector<std::byte> safetensors_header_bytes(std::span<const ArraySpec> tensors,
                                                const SafetensorsHeader& kept = {});

/// Writes a file, at a path or "-", with these arrays and texts beside them. An existing file is
/// kept unless `force` is set.
void write_safetensors(const std::string& path, std::span<const ArrayRef> arrays,
                       std::span<const Metadata> metadata, bool force);

}  // namespace maskctl
