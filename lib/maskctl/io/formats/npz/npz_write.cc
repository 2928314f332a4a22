// Writes an .npz front to back, byte for byte as np.savez and np.savez_compressed do.
// Source: Python's zipfile.py with force_zip64, as numpy 1.24 calls it.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <optional>
#include <unordered_set>
#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/io/formats/npz/npz.h"
#include "maskctl/io/formats/npz/zip.h"

namespace maskctl {
namespace {

constexpr std::uint64_t kZip64Limit = 0x7FFFFFFF;  // from 2 GiB on, zipfile uses 64-bit fields
constexpr std::uint64_t kCountLimit = 0xFFFF;
constexpr std::uint64_t kDate = 0x21;  // 1980-01-01
constexpr std::uint64_t kUtf8Name = 0x800;
constexpr std::size_t kPolledBytes = std::size_t{256} << 10;  // bytes between two stop checks

/// A zip record, built from little-endian fields.
class Record {
 public:
  Record& u16(std::uint64_t value) { return put(value, 2); }
  Record& u32(std::uint64_t value) { return put(value, 4); }
  Record& u64(std::uint64_t value) { return put(value, 8); }
  Record& text(const std::string& value) {
    for (char c : value) bytes_.push_back(static_cast<std::byte>(c));
    return *this;
  }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::uint64_t size() const { return bytes_.size(); }

 private:
  Record& put(std::uint64_t value, int width) {
    for (int i = 0; i < width; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
    return *this;
  }
  std::vector<std::byte> bytes_;
};

struct Entry {
  std::string name;
  std::uint64_t flags = 0;
  std::uint64_t method = 0;
  std::uint64_t crc = 0;
  std::uint64_t packed = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;

  bool large() const { return std::max(bytes, packed) > kZip64Limit; }
  std::uint64_t packed_32() const { return large() ? kZip64Follows : packed; }
  std::uint64_t bytes_32() const { return large() ? kZip64Follows : bytes; }
  std::uint64_t version(bool zip64) const { return zip64 ? 45 : 20; }
};

/// Continues a CRC-32. Empty arrays have a null pointer, for which zlib would start a new checksum,
/// so it is not called for them.
std::uint64_t crc_of(std::uint64_t crc, std::span<const std::byte> bytes) {
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), kPolledBytes))) {
    throw_if_stopped();
    const auto step = bytes.first(std::min(bytes.size(), kPolledBytes));
    crc = ::crc32_z(crc, reinterpret_cast<const Bytef*>(step.data()), step.size());
  }
  return crc;
}

Record local_header(const Entry& entry) {
  Record out;
  out.u32(0x04034B50).u16(entry.version(entry.large())).u16(entry.flags);
  out.u16(entry.method).u16(0).u16(kDate).u32(entry.crc);
  out.u32(entry.packed_32()).u32(entry.bytes_32());
  out.u16(entry.name.size()).u16(20).text(entry.name);
  out.u16(1).u16(16).u64(entry.bytes).u64(entry.packed);
  return out;
}

void append_directory_entry(const Entry& entry, Record& out) {
  const bool far = entry.offset > kZip64Limit;
  const std::uint64_t version = entry.version(entry.large() || far);
  const std::uint64_t field = (entry.large() ? 16u : 0u) + (far ? 8u : 0u);
  constexpr std::uint64_t kUnix = 3 << 8;
  constexpr std::uint64_t kPermissions = std::uint64_t{0600} << 16;
  out.u32(0x02014B50).u16(version | kUnix).u16(version).u16(entry.flags);
  out.u16(entry.method).u16(0).u16(kDate).u32(entry.crc);
  out.u32(entry.packed_32()).u32(entry.bytes_32());
  out.u16(entry.name.size()).u16(field == 0 ? 0 : field + 4).u16(0).u16(0).u16(0);
  out.u32(kPermissions).u32(far ? kZip64Follows : entry.offset).text(entry.name);
  if (field == 0) return;
  out.u16(1).u16(field);
  if (entry.large()) out.u64(entry.bytes).u64(entry.packed);
  if (far) out.u64(entry.offset);
}

Record end_records(std::uint64_t count, std::uint64_t directory_bytes, std::uint64_t offset) {
  Record out;
  if (count > kCountLimit || offset > kZip64Limit || directory_bytes > kZip64Limit) {
    out.u32(0x06064B50).u64(44).u16(45).u16(45).u32(0).u32(0).u64(count).u64(count);
    out.u64(directory_bytes).u64(offset);
    out.u32(0x07064B50).u32(0).u64(offset + directory_bytes).u32(1);
  }
  const std::uint64_t count_16 = std::min(count, kCountLimit);
  out.u32(0x06054B50).u16(0).u16(0).u16(count_16).u16(count_16);
  out.u32(std::min(directory_bytes, kZip64Follows)).u32(std::min(offset, kZip64Follows)).u16(0);
  return out;
}

/// Readers of a zip archive take a name that is not ASCII for UTF-8, and numpy reads no array of
/// the archive if one is not.
bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = first_code_point(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

bool is_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
}

void check_names(std::span<const ArrayStream> arrays) {
  constexpr std::size_t kMaxName = 65535 - 4;
  std::unordered_set<std::string> seen;
  for (const ArrayStream& array : arrays) {
    const std::string& name = array.spec.name;
    if (name.empty() || name.size() > kMaxName || name.find('\0') != std::string::npos) {
      throw Error(Errc::kInvalidArgument,
                  fmt::format("'{}' cannot name an array in an .npz", printable(name)));
    }
    if (!is_utf8(name)) {
      throw Error(
          Errc::kInvalidArgument,
          fmt::format("'{}' cannot name an array in an .npz: it is not UTF-8", printable(name)));
    }
    if (!seen.insert(name).second) {
      throw Error(Errc::kInvalidArgument,
                  fmt::format("two arrays named '{}' for one .npz", printable(name)));
    }
  }
}

/// Compresses pieces into one raw deflate stream.
class Deflater {
 public:
  explicit Deflater(int level) {
    constexpr int kRaw = -MAX_WBITS, kMemory = 8;  // the values of Python's zipfile
    if (deflateInit2(&stream_, level, Z_DEFLATED, kRaw, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~Deflater() { deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  void add(std::span<const std::byte> bytes) {
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), kPolledBytes))) {
      throw_if_stopped();
      const auto step = bytes.first(std::min(bytes.size(), kPolledBytes));
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(step.data()));
      stream_.avail_in = static_cast<uInt>(step.size());
      run(Z_NO_FLUSH);
    }
  }
  std::vector<std::byte> finish() {
    run(Z_FINISH);
    return std::move(out_);
  }

 private:
  void run(int flush) {
    do {
      stream_.next_out = part_.data();
      stream_.avail_out = static_cast<uInt>(part_.size());
      deflate(&stream_, flush);
      const auto made = std::as_bytes(std::span(part_).first(part_.size() - stream_.avail_out));
      out_.insert(out_.end(), made.begin(), made.end());
    } while (stream_.avail_out == 0);
  }

  z_stream stream_{};
  std::vector<Bytef> part_ = std::vector<Bytef>(std::size_t{64} << 10);
  std::vector<std::byte> out_;
};

/// Writes members one after another, and at the end the directory.
class ArchiveWriter {
 public:
  ArchiveWriter(const WriteBytes& write, int gzip) : write_(write), gzip_(gzip) {}

  void add(const ArrayStream& array) {
    const std::vector<std::byte> header = npy_header_bytes(array.spec.dtype, array.spec.shape);
    Entry entry;
    entry.name = array.spec.name + ".npy";
    entry.flags = is_ascii(entry.name) ? 0 : kUtf8Name;
    entry.crc = crc_of(0, header);
    entry.bytes = header.size();
    std::optional<Deflater> deflater;
    if (gzip_ > 0) deflater.emplace(gzip_).add(header);
    array.give([&](std::span<const std::byte> bytes) {
      entry.crc = crc_of(entry.crc, bytes);
      entry.bytes += bytes.size();
      if (deflater) deflater->add(bytes);
    });
    entry.packed = entry.bytes;
    if (deflater) {
      const std::vector<std::byte> packed = deflater->finish();
      entry.method = kZipDeflated;
      entry.packed = packed.size();
      start(entry);
      write_(packed);
    } else {
      start(entry);
      write_(header);
      array.give(write_);
    }
    finish(entry);
  }

  /// Copies a member of another archive without decompressing it.
  void copy(const ByteSource& source, const ZipMember& member) {
    Entry entry;
    entry.name = member.name;
    entry.flags = member.flags & (kUtf8Name | kZipEncrypted);
    entry.method = member.method;
    entry.crc = member.crc;
    entry.packed = static_cast<std::uint64_t>(member.packed_bytes);
    entry.bytes = static_cast<std::uint64_t>(member.bytes);
    start(entry);
    copy_bytes(write_, source, member.data_offset, member.packed_bytes);
    finish(entry);
  }

  void end() {
    write_(directory_.bytes());
    write_(end_records(count_, directory_.size(), offset_).bytes());
  }

 private:
  void start(Entry& entry) {
    entry.offset = offset_;
    const Record local = local_header(entry);
    write_(local.bytes());
    offset_ += local.size();
  }
  void finish(const Entry& entry) {
    offset_ += entry.packed;
    append_directory_entry(entry, directory_);
    ++count_;
  }

  const WriteBytes& write_;
  int gzip_;
  Record directory_;
  std::uint64_t offset_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace

void copy_bytes(const WriteBytes& write, const ByteSource& source, Index offset, Index count) {
  constexpr Index kPart = Index{1} << 20;
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(count, kPart)));
  while (count > 0) {
    const std::span part =
        std::span(buffer).first(static_cast<std::size_t>(std::min(count, kPart)));
    if (source.read_at(offset, part) < std::ssize(part)) {
      throw Error(Errc::kIo, source.name() + ": became shorter while it was copied");
    }
    write(part);
    offset += std::ssize(part);
    count -= std::ssize(part);
  }
}

void write_npz_bytes(const WriteBytes& write, std::span<const ArrayStream> arrays, int gzip) {
  check_names(arrays);
  ArchiveWriter archive(write, gzip);
  for (const ArrayStream& array : arrays) archive.add(array);
  archive.end();
}

void append_npz_bytes(const WriteBytes& write, const ByteSource& old,
                      const std::function<bool(std::string_view key)>& replaced,
                      std::span<const ArrayStream> arrays, int gzip) {
  check_names(arrays);
  constexpr std::string_view kSuffix = ".npy";
  const auto stays = [&](std::string_view member) {
    if (!member.ends_with(kSuffix)) return true;
    member.remove_suffix(kSuffix.size());
    return !replaced(member);
  };
  ArchiveWriter archive(write, gzip);
  for (const ZipMember& member : read_zip_directory(old)) {
    if (stays(member.name)) archive.copy(old, member);
  }
  for (const ArrayStream& array : arrays) archive.add(array);
  archive.end();
}

}  // namespace maskctl
