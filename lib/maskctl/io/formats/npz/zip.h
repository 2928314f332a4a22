// Reads the directory of a zip archive and the bytes of its members; used for .npz.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/io/streams/byte_source.h"

namespace maskctl {

inline constexpr std::uint16_t kZipDeflated = 8;        // a compression method
inline constexpr std::uint16_t kZipEncrypted = 0x2041;  // flag bits 0, 6, 13: encryption
inline constexpr std::uint64_t kZip64Follows =
    0xFFFFFFFF;  // in a 32-bit field: the value is in the zip64 field

struct ZipMember {
  std::string name;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;  // 0 (stored) or kZipDeflated
  std::uint32_t crc = 0;
  Index packed_bytes = 0;
  Index bytes = 0;
  Index header_offset = 0;  // of the local header in the file
  Index data_offset = 0;
};

/// Reads the central directory of a seekable source, including zip64. Sizes, names and offsets are
/// taken only from the directory, so archives that were written to a pipe (flag bit 3) can be read
/// too. Throws Error(kFormat) if members overlap each other or the directory, are beyond the file,
/// or have the same name.
std::vector<ZipMember> read_zip_directory(const ByteSource& source);

/// Decompresses a member as a stream; its checksum is verified when the last bytes are read.
/// `label` starts the messages. Throws Error(kUnsupported) for encryption and for compression other
/// than deflate, Error(kFormat) for a size that the compressed bytes cannot produce.
std::unique_ptr<ByteStream> open_zip_member(const ByteSource& source, const ZipMember& member,
                                            const std::string& label);

}  // namespace maskctl
