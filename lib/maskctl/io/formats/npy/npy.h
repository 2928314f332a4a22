// The .npy format: its header, reading by parts, reading whole arrays.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/io/streams/byte_source.h"
#include "maskctl/io/streams/options.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

struct NpyHeader {
  DType dtype = DType::kBool;
  bool fortran_order = false;
  bool big_endian = false;  // false for one-byte elements
  std::vector<Index> shape;
  Index data_offset = 0;  // from the start of the file
  Index data_bytes = 0;   // product of the shape times the element size

  Index elements() const { return data_bytes / size_bytes(dtype); }
};

/// Parses the dictionary of a header (the text after HEADER_LEN); data_offset stays 0. Accepts keys
/// in any order, either quote, any blanks. Throws Error(kFormat or kUnsupported), without a file
/// name. Source: numpy/lib/format.py; at most 8 dimensions.
NpyHeader parse_npy_header(std::string_view text);

/// What a header says about an array of any element type, whether it can be read or not.
struct NpyOutline {
  std::string descr;  // "<c8", "[('a', '<f4')]"
  std::vector<Index> shape;
};
NpyOutline parse_npy_outline(std::string_view text);
/// The outline of the .npy at the position of `source`. Throws like NpyReader, but accepts every
/// element type.
NpyOutline read_npy_outline(ByteSource& source);

/// Magic, length and padded dictionary, byte for byte as numpy 1.24 writes them: version 1.0, or
/// 2.0 when the header exceeds 65535 bytes; little endian; bfloat16 is '<V2'.
std::vector<std::byte> npy_header_bytes(DType dtype, std::span<const Index> shape,
                                        bool fortran_order = false);

/// Reads a .npy by parts and never loads it whole. Errors start with the name of the source.
class NpyReader {
 public:
  /// Reads the header. If the size of the source is known, too few bytes for the shape are an Error
  /// ("expected 16 bytes of data, got 15") and spare bytes are a line in `notes`, or an Error if
  /// strict.
  explicit NpyReader(ByteSource source, const ReadOptions& options = {},
                     std::vector<std::string>* notes = nullptr);
  /// Elements of another format, from byte `start` of `source` on, with the given header; bytes
  /// after the data belong to others. `label` is the name in messages. A source that cannot seek
  /// must be at `start`, and nothing else may move it.
  NpyReader(std::shared_ptr<ByteSource> source, Index start, std::string label, NpyHeader header);

  const NpyHeader& header() const { return header_; }
  const std::string& name() const { return name_; }
  /// False for pipes, for which read_rows must be called for the elements in order.
  bool seekable() const { return source_->seekable(); }
  /// The byte of the source at which the elements begin, if it can seek.
  std::optional<Index> data_begin() const {
    return seekable() ? std::optional(start_) : std::nullopt;
  }

  /// Reads elements [first_element, first_element + out.size() / element size) in the order in
  /// which they are stored (first axis fastest if fortran_order), in native byte order. Thread-safe
  /// when seekable(). Throws Error(kInvalidArgument) for an out-of-order call on a pipe,
  /// Error(kFormat) when the data ends early.
  void read_rows(Index first_element, std::span<std::byte> out);

  /// Reads the same elements without moving the position. False if a pipe is already past them or
  /// may not be read so far ahead.
  bool look(Index first_element, std::span<std::byte> out);

  /// Call after the last element of a pipe: bytes that follow are a note or, if strict, an Error.
  /// Does nothing if the constructor has checked that already.
  void finish(const ReadOptions& options, std::vector<std::string>* notes);

 private:
  void check_size(const ReadOptions& options, std::vector<std::string>* notes) const;

  std::shared_ptr<ByteSource> source_;
  std::string name_;
  NpyHeader header_;
  Index start_ = 0;      // start of the data in the source
  bool alone_ = true;    // nothing but the data follows
  Index next_byte_ = 0;  // in the data, for sources that cannot seek
};

/// Reads the whole array in C order. Throws Error(kLimit) before allocating when it exceeds
/// options.max_bytes; from pipes, memory grows with the data that arrives.
Tensor read_npy(ByteSource source, const ReadOptions& options = {},
                std::vector<std::string>* notes = nullptr);
Tensor read_npy(NpyReader& reader, const ReadOptions& options = {},
                std::vector<std::string>* notes = nullptr);

/// How many bytes of a bool array are neither 0 nor 1 (they count as true).
Index count_noncanonical_bools(std::span<const std::byte> bytes);
Index count_noncanonical_bools(const Tensor& tensor);  // 0 for other dtypes

}  // namespace maskctl
