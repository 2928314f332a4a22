// The safetensors format: a JSON header and raw little-endian data.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/io/formats/npy/npy.h"
#include "maskctl/io/streams/byte_source.h"
#include "maskctl/io/streams/named_arrays.h"
#include "maskctl/io/streams/options.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// One tensor as described by the header. Offsets are relative to the data.
struct SafetensorsEntry {
  std::string name;
  std::string dtype_name;      // "BOOL", "F8_E4M3", ...
  std::optional<DType> dtype;  // null for types that cannot be read
  std::vector<Index> shape;
  Index begin = 0;
  Index end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;                      // in the order of their data
  std::vector<std::pair<std::string, std::string>> metadata;  // "__metadata__", in order
  Index data_offset = 0;                                      // from the start of the file
  Index data_bytes = 0;
};

/// Reads the header at the position of `source`, which is then at the data. Errors start with the
/// name of the source: kLimit for a header over 100 MB or options.max_bytes (before it is
/// allocated); kFormat for anything but one JSON object of tensors and strings, for duplicate
/// names, sizes that do not fit the shape, and data that overlaps, leaves holes or does not have
/// the length of the file.
SafetensorsHeader read_safetensors_header(ByteSource& source, const ReadOptions& options = {});

/// The tensors of a safetensors file or pipe.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(ByteSource source, const ReadOptions& options = {});

  const std::string& name() const { return name_; }
  /// In the order of their data.
  const std::vector<std::string>& keys() const { return keys_; }
  bool contains(const std::string& key) const;
  const SafetensorsHeader& header() const { return header_; }

  /// Opens a tensor; reads nothing yet. A pipe is read forward: tensors must be opened in the order
  /// of their data, each read before the next, and only the last reader works. Throws
  /// Error(kInvalidArgument) for an unknown key (the keys are listed) or one that a pipe has
  /// passed, Error(kUnsupported) for a dtype that cannot be read.
  std::shared_ptr<NpyReader> open(const std::string& key);
  /// Reads the whole tensor. Throws Error(kLimit) before allocating more than options.max_bytes.
  Tensor read(const std::string& key, const ReadOptions& options = {});

 private:
  const SafetensorsEntry& find(const std::string& key) const;

  std::string name_;
  std::shared_ptr<ByteSource> source_;
  SafetensorsHeader header_;
  std::vector<std::string> keys_;
};

/// The length, JSON and padding (blanks to a multiple of 8) for these tensors, without blanks
/// between tokens, as the reference implementation writes it. The tensors of `kept` come first,
/// their data at the front, and its metadata stays. Throws Error(kInvalidArgument) for duplicate,
/// empty and reserved names.
std::vector<std::byte> safetensors_header_bytes(std::span<const ArraySpec> tensors,
                                                const SafetensorsHeader& kept = {});

}  // namespace maskctl
