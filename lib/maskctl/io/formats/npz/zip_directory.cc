// Parses the end record and the central directory of zip archives, also zip64, and checks
// positions. Source: PKWARE APPNOTE 6.3.10, sections 4.3 to 4.5.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <unordered_set>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/io/formats/npz/zip.h"

namespace maskctl {
namespace {

constexpr Index kEndBytes = 22;
constexpr Index kLocatorBytes = 20;
constexpr Index kEnd64Bytes = 56;
constexpr Index kEntryBytes = 46;
constexpr Index kLocalBytes = 30;
constexpr Index kMaxComment = 65535;
constexpr Index kMaxDirectory = Index{64} << 20;

[[noreturn]] void bad_zip(const ByteSource& source, const std::string& why) {
  throw Error(Errc::kFormat, fmt::format("{}: bad zip archive: {}", source.name(), why));
}

/// The little-endian fields of a record; throws when read past its end.
class Fields {
 public:
  Fields(const ByteSource& source, std::span<const std::byte> bytes)
      : source_(source), bytes_(bytes) {}

  std::uint64_t at(std::size_t offset, std::size_t width) const {
    if (offset + width > bytes_.size()) bad_zip(source_, "truncated record");
    std::uint64_t value = 0;
    for (std::size_t i = width; i-- > 0;) {
      value = value << 8 | std::to_integer<std::uint64_t>(bytes_[offset + i]);
    }
    return value;
  }
  std::uint16_t u16(std::size_t offset) const { return static_cast<std::uint16_t>(at(offset, 2)); }
  std::uint32_t u32(std::size_t offset) const { return static_cast<std::uint32_t>(at(offset, 4)); }
  /// A size or offset. One too large for an Index is refused, as no file is that large.
  Index u64(std::size_t offset) const {
    const std::uint64_t value = at(offset, 8);
    if (value > static_cast<std::uint64_t>(std::numeric_limits<Index>::max())) {
      bad_zip(source_, "size beyond the file");
    }
    return static_cast<Index>(value);
  }
  Fields part(std::size_t offset, std::size_t count) const {
    if (offset + count > bytes_.size()) bad_zip(source_, "truncated record");
    return Fields(source_, bytes_.subspan(offset, count));
  }
  std::string text(std::size_t offset, std::size_t count) const {
    const Fields field = part(offset, count);
    return {reinterpret_cast<const char*>(field.bytes_.data()), count};
  }
  std::size_t size() const { return bytes_.size(); }

 private:
  const ByteSource& source_;
  std::span<const std::byte> bytes_;
};

std::vector<std::byte> read_exactly(const ByteSource& source, Index offset, Index count) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  if (offset < 0 || source.read_at(offset, bytes) < count) bad_zip(source, "truncated");
  return bytes;
}

struct Directory {
  Index entries = 0;
  Index bytes = 0;
  Index offset = 0;
  Index end = 0;  // offset of the records that follow the directory
};

/// The offset of the end record in `tail`, the last bytes of the file: only the archive's comment
/// follows it.
Index find_end(const ByteSource& source, std::span<const std::byte> tail) {
  const Fields fields(source, tail);
  for (auto at = static_cast<Index>(tail.size()) - kEndBytes; at >= 0; --at) {
    const auto offset = static_cast<std::size_t>(at);
    if (fields.u32(offset) != 0x06054B50) continue;
    if (offset + kEndBytes + fields.u16(offset + 20) == tail.size()) return at;
  }
  bad_zip(source, "no end of central directory (truncated, or not a zip)");
}

/// If there is a zip64 record, replaces the position of the directory by the one that this record
/// gives.
void read_end_64(const ByteSource& source, Index end_offset, Directory& directory) {
  if (end_offset < kLocatorBytes) return;
  const auto locator_bytes = read_exactly(source, end_offset - kLocatorBytes, kLocatorBytes);
  const Fields locator(source, locator_bytes);
  if (locator.u32(0) != 0x07064B50) return;
  const Index offset = locator.u64(8);
  if (offset > end_offset - kLocatorBytes - kEnd64Bytes)
    bad_zip(source, "zip64 record out of place");
  const auto bytes = read_exactly(source, offset, kEnd64Bytes);
  const Fields fields(source, bytes);
  if (fields.u32(0) != 0x06064B50) bad_zip(source, "zip64 record without its signature");
  directory = {fields.u64(32), fields.u64(40), fields.u64(48), offset};
}

Directory find_directory(const ByteSource& source) {
  const Index size = source.size().value_or(0);
  const Index tail_bytes = std::min(size, kEndBytes + kMaxComment);
  const auto tail = read_exactly(source, size - tail_bytes, tail_bytes);
  const Index at = find_end(source, tail);
  const Fields fields(source, std::span(tail).subspan(static_cast<std::size_t>(at)));
  if (fields.u16(4) != 0 || fields.u16(6) != 0) bad_zip(source, "split over several files");
  Directory directory{fields.u16(10), fields.u32(12), fields.u32(16), size - tail_bytes + at};
  const bool ones = directory.entries == 0xFFFF || directory.bytes == kZip64Follows ||
                    directory.offset == kZip64Follows;
  if (ones) read_end_64(source, directory.end, directory);
  if (directory.bytes > directory.end || directory.offset > directory.end - directory.bytes) {
    bad_zip(source, "central directory beyond the file");
  }
  if (directory.bytes > kMaxDirectory || directory.entries > directory.bytes / kEntryBytes) {
    bad_zip(source, fmt::format("{} members in a directory of {} bytes", directory.entries,
                                directory.bytes));
  }
  return directory;
}

/// Reads the zip64 extra field: it has, in this order, the values whose 32-bit fields are all ones.
void read_extra(const Fields& extra, ZipMember& member) {
  std::size_t at = 0;
  while (at + 4 <= extra.size()) {
    const Fields field = extra.part(at + 4, extra.u16(at + 2));
    if (extra.u16(at) == 1) {
      std::size_t next = 0;
      for (Index* value : {&member.bytes, &member.packed_bytes, &member.header_offset}) {
        if (*value != kZip64Follows) continue;
        *value = field.u64(next);
        next += 8;
      }
      return;
    }
    at += 4 + field.size();
  }
}

/// Reads one entry of the central directory and returns its length in bytes.
std::size_t read_entry(const ByteSource& source, const Fields& fields, ZipMember& member) {
  if (fields.u32(0) != 0x02014B50) bad_zip(source, "directory entry without its signature");
  member.flags = fields.u16(8);
  member.method = fields.u16(10);
  member.crc = fields.u32(16);
  member.packed_bytes = fields.u32(20);
  member.bytes = fields.u32(24);
  member.header_offset = fields.u32(42);
  const std::size_t name = fields.u16(28);
  const std::size_t extra = fields.u16(30);
  const std::size_t comment = fields.u16(32);
  member.name = fields.text(kEntryBytes, name);
  read_extra(fields.part(kEntryBytes + name, extra), member);
  return kEntryBytes + name + extra + comment;
}

/// Computes where the data of a member begins. The local header before it is needed only for its
/// length.
void locate_data(const ByteSource& source, Index directory_offset, ZipMember& member) {
  const std::string label = printable(member.name);
  if (member.header_offset > directory_offset - kLocalBytes) {
    bad_zip(source, fmt::format("member {} beyond the file", label));
  }
  const auto bytes = read_exactly(source, member.header_offset, kLocalBytes);
  const Fields local(source, bytes);
  if (local.u32(0) != 0x04034B50) {
    bad_zip(source, fmt::format("member {} without its local header", label));
  }
  member.data_offset = member.header_offset + kLocalBytes + local.u16(26) + local.u16(28);
  if (member.packed_bytes > directory_offset - member.data_offset) {
    bad_zip(source, fmt::format("member {} of {} bytes reaches beyond the file", label,
                                member.packed_bytes));
  }
}

/// Refuses members that overlap: with them, a small archive could decompress to petabytes.
void check_overlap(const ByteSource& source, const std::vector<ZipMember>& members) {
  std::vector<const ZipMember*> sorted;
  for (const ZipMember& member : members) sorted.push_back(&member);
  std::sort(sorted.begin(), sorted.end(), [](const ZipMember* a, const ZipMember* b) {
    return a->header_offset < b->header_offset;
  });
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i - 1]->data_offset + sorted[i - 1]->packed_bytes <= sorted[i]->header_offset) {
      continue;
    }
    bad_zip(source, fmt::format("members {} and {} overlap", printable(sorted[i - 1]->name),
                                printable(sorted[i]->name)));
  }
}

}  // namespace

std::vector<ZipMember> read_zip_directory(const ByteSource& source) {
  const Directory directory = find_directory(source);
  const auto bytes = read_exactly(source, directory.offset, directory.bytes);
  std::vector<ZipMember> members(static_cast<std::size_t>(directory.entries));
  std::unordered_set<std::string> names;
  std::size_t at = 0;
  for (ZipMember& member : members) {
    if (at >= bytes.size()) bad_zip(source, "directory shorter than its number of members");
    at += read_entry(source, Fields(source, std::span(bytes).subspan(at)), member);
    if (at > bytes.size()) bad_zip(source, "truncated directory entry");
    if (!names.insert(member.name).second) {
      bad_zip(source, fmt::format("two members named {}", printable(member.name)));
    }
    locate_data(source, directory.offset, member);
  }
  check_overlap(source, members);
  return members;
}

}  // namespace maskctl
