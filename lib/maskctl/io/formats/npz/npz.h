// The .npz format, a zip archive of .npy members, read and written with zlib alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/io/formats/npy/npy.h"
#include "maskctl/io/streams/byte_source.h"
#include "maskctl/io/streams/named_arrays.h"
#include "maskctl/io/streams/options.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// The arrays of an .npz. The constructor reads the directory and refuses duplicate names,
/// overlapping members and sizes beyond the file; members without ".npy" are skipped. Errors start
/// with the name of the source, those of a member with "m.npz:key: ".
class NpzArchive {
 public:
  /// Takes a file or memory; a pipe is read whole, up to options.max_bytes.
  explicit NpzArchive(ByteSource source, const ReadOptions& options = {});
  NpzArchive(NpzArchive&&) noexcept;
  NpzArchive& operator=(NpzArchive&&) noexcept;
  ~NpzArchive();

  const std::string& name() const;
  /// In the order of the archive's directory.
  const std::vector<std::string>& keys() const;
  bool contains(const std::string& key) const;

  /// Reads the array of a member. Its .npy header is checked against the declared size and
  /// max_bytes before the rest is inflated, and the checksum at the end. Throws
  /// Error(kInvalidArgument) for an unknown key (the keys are listed), Error(kUnsupported) for
  /// encryption and for methods other than stored and deflated.
  Tensor read(const std::string& key, const ReadOptions& options = {},
              std::vector<std::string>* notes = nullptr) const;
  /// Reads only the header, of any element type, at the cost of the first inflated bytes.
  NpyOutline outline(const std::string& key) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Writes the bytes that np.savez writes for the same arrays in the same order (numpy 1.24, dates
/// 1980-01-01); with `gzip` 6 those of np.savez_compressed, if both use the same zlib; 1 to 9 is
/// the level, 0 means stored. Writes front to back, so pipes will do; a compressed array is held in
/// memory. Throws Error(kInvalidArgument) for duplicate, empty or too long names.
void write_npz_bytes(const WriteBytes& write, std::span<const ArrayStream> arrays, int gzip = 0);
/// Copies the packed members of the archive `old`, except those that `arrays` replace, then writes
/// the arrays.
void append_npz_bytes(const WriteBytes& write, const ByteSource& old,
                      std::span<const ArrayStream> arrays, int gzip = 0);
/// Copies `count` bytes of a seekable source, in steps.
void copy_bytes(const WriteBytes& write, const ByteSource& source, Index offset, Index count);

}  // namespace maskctl
