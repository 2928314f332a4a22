// The .npy format: reads headers, parts of arrays and whole arrays.
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
  bool big_endian = false;  // false if elements have one byte
  std::vector<Index> shape;
  Index data_offset = 0;  // from the start of the file
  Index data_bytes = 0;   // number of elements times their size

  Index elements() const { return data_bytes / size_bytes(dtype); }
};

/// Parses the dictionary of a header, the text after HEADER_LEN; leaves data_offset 0. Accepts keys
/// in any order, both kinds of quotes, and blanks anywhere. Throws Error(kFormat or kUnsupported)
/// that does not name the file. At most 8 dimensions. Source: numpy/lib/format.py.
NpyHeader parse_npy_header(std::string_view text);

/// What a header says about an array, including element types that cannot be read.
struct NpyOutline {
  std::string descr;  // the dtype as in the file: "<c8", "[('a', '<f4')]"
  std::vector<Index> shape;
};
NpyOutline parse_npy_outline(std::string_view text);
/// Reads the header of the .npy at the current position of `source`. Throws like NpyReader, but
/// accepts every element type.
NpyOutline read_npy_outline(ByteSource& source);

/// A whole header: magic, length and padded dictionary, byte for byte as numpy 1.24 writes it. It
/// is of version 1.0, or 2.0 if longer than 65535 bytes; data is little endian; bfloat16 is '<V2'.
std::vector<std::byte> npy_header_bytes(DType dtype, std::span<const Index> shape,
                                        bool fortran_order = false);

/// Reads a .npy by parts and never holds the whole array. Errors start with the name of the source.
class NpyReader {
 public:
  /// Reads the header. If the size of the source is known, it is checked: missing data is an Error
  /// ("expected 16 bytes of data, got 15"); extra bytes are reported in `notes`, or an Error if
  /// options.strict.
  explicit NpyReader(ByteSource source, const ReadOptions& options = {},
                     std::vector<std::string>* notes = nullptr);
  /// Reads elements that start at byte `start` of `source` and whose header is given, as other
  /// formats have them; bytes after the data are not checked. `label` is the name in messages. A
  /// source that cannot seek must be at `start`, and only this reader may read from it.
  NpyReader(std::shared_ptr<ByteSource> source, Index start, std::string label, NpyHeader header);

  const NpyHeader& header() const { return header_; }
  const std::string& name() const { return name_; }
  /// False for pipes: then read_rows must be called in the order of the elements.
  bool seekable() const { return source_->seekable(); }
  /// The byte of the source where the elements begin; nothing if the source cannot seek.
  std::optional<Index> data_begin() const {
    return seekable() ? std::optional(start_) : std::nullopt;
  }

  /// Reads elements [first_element, first_element + out.size() / element size), numbered in the
  /// order in which they are stored (first axis fastest if fortran_order), in native byte order.
  /// Thread-safe when seekable(). Throws Error(kInvalidArgument) for a call out of order on a pipe,
  /// Error(kFormat) when the data ends early.
  void read_rows(Index first_element, std::span<std::byte> out);

  /// Reads elements like read_rows, but does not consume them. Returns false if a pipe is already
  /// past them, or if they are too far ahead to be buffered.
  bool look(Index first_element, std::span<std::byte> out);

  /// Call it after the last element of a pipe. Bytes that follow are reported in `notes`, or an
  /// Error if options.strict. Does nothing if the constructor has checked this already.
  void finish(const ReadOptions& options, std::vector<std::string>* notes);

 private:
  void check_size(const ReadOptions& options, std::vector<std::string>* notes) const;

  std::shared_ptr<ByteSource> source_;
  std::string name_;
  NpyHeader header_;
  Index start_ = 0;      // byte of the source where the data starts
  bool alone_ = true;    // the source ends after the data
  Index next_byte_ = 0;  // position in the data, if the source cannot seek
};

/// Reads a whole array, in C order. Throws Error(kLimit) before it allocates if the array exceeds
/// options.max_bytes. For pipes, memory grows only as data arrives.
Tensor read_npy(ByteSource source, const ReadOptions& options = {},
                std::vector<std::string>* notes = nullptr);
Tensor read_npy(NpyReader& reader, const ReadOptions& options = {},
                std::vector<std::string>* notes = nullptr);

/// The number of bytes that are neither 0 nor 1; as bools they count as true.
Index count_noncanonical_bools(std::span<const std::byte> bytes);
Index count_noncanonical_bools(const Tensor& tensor);  // 0 for other dtypes

}  // namespace maskctl
