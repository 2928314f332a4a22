// The directory of a zip archive and the bytes of its members; for .npz.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/io/streams/byte_source.h"

namespace maskctl {

inline constexpr std::uint16_t kZipDeflated = 8;            // a method
inline constexpr std::uint16_t kZipEncrypted = 0x2041;      // flag bits 0, 6 and 13: all forms
inline constexpr std::uint64_t kZip64Follows = 0xFFFFFFFF;  // in a 32-bit field: see the 64-bit one

struct ZipMember {
  std::string name;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;  // 0 (stored) or kZipDeflated
  std::uint32_t crc = 0;
  Index packed_bytes = 0;
  Index bytes = 0;
  Index header_offset = 0;  // of the local header
  Index data_offset = 0;
};

/// Reads the central directory of a seekable source, including zip64. Sizes, names and offsets come
/// from the directory alone, so archives written to a pipe (flag bit 3) can be read too. Throws
/// Error(kFormat) when members overlap each other or the directory, lie beyond the file, or two
/// have the same name.
std::vector<ZipMember> read_zip_directory(const ByteSource& source);

/// Unpacks a member as a stream; the checksum is verified with its last bytes. `label` starts its
/// messages. Throws Error(kUnsupported) for encryption and methods other than stored and deflated,
/// Error(kFormat) for a size that its packed bytes cannot give.
std::unique_ptr<ByteStream> open_zip_member(const ByteSource& source, const ZipMember& member,
                                            const std::string& label);

}  // namespace maskctl
