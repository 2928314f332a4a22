// The .npz format, a zip archive of .npy files, read and written with zlib alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/io/formats/npy/npy.h"
#include "maskctl/io/streams/byte_source.h"
#include "maskctl/io/streams/named_arrays.h"
#include "maskctl/io/streams/options.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// The arrays of an .npz. The constructor reads the directory of the archive and refuses duplicate
/// names, overlapping members and sizes beyond the file. Members without ".npy" are skipped. Errors
/// start with the name of the source, or with "m.npz:key: " if they are about a member.
class NpzArchive {
 public:
  /// `source` is a file or memory; a pipe is read whole, up to options.max_bytes.
  explicit NpzArchive(ByteSource source, const ReadOptions& options = {});
  NpzArchive(NpzArchive&&) noexcept;
  NpzArchive& operator=(NpzArchive&&) noexcept;
  ~NpzArchive();

  const std::string& name() const;
  /// The keys, in the order of the archive's directory.
  const std::vector<std::string>& keys() const;
  bool contains(const std::string& key) const;

  /// Reads an array. Its .npy header is checked against the declared size and max_bytes before the
  /// rest is decompressed; its checksum is checked at the end. Throws Error(kInvalidArgument),
  /// which lists the keys, for an unknown key; Error(kUnsupported) for encryption and for
  /// compression other than deflate.
  Tensor read(const std::string& key, const ReadOptions& options = {},
              std::vector<std::string>* notes = nullptr) const;
  /// Reads only the header of an array, which may be of any element type; decompresses only its
  /// first bytes.
  NpyOutline outline(const std::string& key) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Writes an .npz of these arrays in this order, byte for byte as np.savez does (numpy 1.24, dates
/// 1980-01-01), or with `gzip` 6 as np.savez_compressed does with the same zlib. `gzip` is the
/// compression level, 1 to 9; 0 means none. Data is written front to back, also to pipes; a
/// compressed array is held in memory. Throws Error(kInvalidArgument) for names that are duplicate,
/// empty, too long or not UTF-8.
void write_npz_bytes(const WriteBytes& write, std::span<const ArrayStream> arrays, int gzip = 0);
/// Writes an .npz with the members of the archive `old`, copied without decompression, except
/// those whose keys are `replaced`, and then the arrays.
void append_npz_bytes(const WriteBytes& write, const ByteSource& old,
                      const std::function<bool(std::string_view key)>& replaced,
                      std::span<const ArrayStream> arrays, int gzip = 0);
/// Copies `count` bytes from `offset` of a seekable source, in steps.
void copy_bytes(const WriteBytes& write, const ByteSource& source, Index offset, Index count);

}  // namespace maskctl
