// Decompresses one member of a zip archive as a stream.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/io/formats/npz/zip.h"

namespace maskctl {
namespace {

constexpr std::uint16_t kStored = 0;
constexpr Index kMaxExpansion = 1032;  // the highest compression ratio of deflate
constexpr std::size_t kChunk =
    std::size_t{1} << 18;  // bytes per read, few enough to be in the cache for the checksum

/// Reads the compressed bytes of a member one after another.
class Packed {
 public:
  Packed(const ByteSource& source, const ZipMember& member)
      : source_(source), at_(member.data_offset), end_(at_ + member.packed_bytes) {}

  Index take(std::span<std::byte> out) {
    const auto count = std::min<Index>(end_ - at_, static_cast<Index>(out.size()));
    const Index got = source_.read_at(at_, out.first(static_cast<std::size_t>(count)));
    at_ += got;
    return got;
  }

 private:
  const ByteSource& source_;
  Index at_;
  Index end_;
};

/// Counts the decompressed bytes of a member and verifies size and checksum. Subclasses implement
/// unpack().
class MemberStream : public ByteStream {
 public:
  MemberStream(const ZipMember& member, std::string label)
      : remaining_(member.bytes), expected_crc_(member.crc), label_(std::move(label)) {}

  Index read(std::span<std::byte> out) final {
    const auto wanted =
        std::min<Index>(remaining_, static_cast<Index>(std::min(out.size(), kChunk)));
    if (wanted == 0) return 0;
    const std::span<std::byte> part = out.first(static_cast<std::size_t>(wanted));
    const Index got = unpack(part);
    if (got == 0) bad("ends before its declared size");
    crc_ = ::crc32(crc_, reinterpret_cast<const Bytef*>(part.data()), static_cast<uInt>(got));
    remaining_ -= got;
    if (remaining_ == 0) check_end();
    return got;
  }

 protected:
  virtual Index unpack(std::span<std::byte> out) = 0;

  [[noreturn]] void bad(const std::string& why) const {
    throw Error(Errc::kFormat, fmt::format("{}: bad zip member: {}", label_, why));
  }

 private:
  void check_end() {
    if (crc_ != expected_crc_) bad("checksum (CRC-32) differs; the data is damaged");
    std::array<std::byte, 1> more;
    if (unpack(more) != 0) bad("unpacks to more than its declared size");
  }

  Index remaining_;
  uLong crc_ = 0;
  uLong expected_crc_;
  std::string label_;
};

class StoredStream : public MemberStream {
 public:
  StoredStream(const ByteSource& source, const ZipMember& member, const std::string& label)
      : MemberStream(member, label), packed_(source, member) {}

 protected:
  Index unpack(std::span<std::byte> out) override { return packed_.take(out); }

 private:
  Packed packed_;
};

class InflateStream : public MemberStream {
 public:
  InflateStream(const ByteSource& source, const ZipMember& member, const std::string& label)
      : MemberStream(member, label), packed_(source, member), input_(std::size_t{1} << 17) {
    if (::inflateInit2(&state_, -MAX_WBITS) != Z_OK) {
      throw Error(Errc::kLimit, label + ": no memory to unpack");
    }
  }
  ~InflateStream() override { ::inflateEnd(&state_); }
  InflateStream(const InflateStream&) = delete;
  InflateStream& operator=(const InflateStream&) = delete;

 protected:
  Index unpack(std::span<std::byte> out) override {
    state_.next_out = reinterpret_cast<Bytef*>(out.data());
    state_.avail_out = static_cast<uInt>(out.size());
    while (!ended_ && state_.avail_out == out.size()) {
      if (state_.avail_in == 0) refill();
      const int result = ::inflate(&state_, Z_NO_FLUSH);
      ended_ = result == Z_STREAM_END;
      if (ended_ || result == Z_OK) continue;
      if (result == Z_BUF_ERROR && state_.avail_in == 0) bad("compressed data ends early");
      bad("compressed data is damaged");
    }
    return static_cast<Index>(out.size() - state_.avail_out);
  }

 private:
  void refill() {
    state_.next_in = reinterpret_cast<Bytef*>(input_.data());
    state_.avail_in = static_cast<uInt>(packed_.take(input_));
  }

  Packed packed_;
  std::vector<std::byte> input_;
  z_stream state_{};
  bool ended_ = false;
};

/// Checks, before anything is allocated, that the compressed bytes can decompress to the declared
/// size.
void check_sizes(const ZipMember& member, const std::string& label) {
  const bool possible = member.method == kStored
                            ? member.bytes == member.packed_bytes
                            : member.bytes / kMaxExpansion <= member.packed_bytes;
  if (possible) return;
  throw Error(Errc::kFormat,
              fmt::format("{}: bad zip member: {} packed bytes cannot give its declared size of {}",
                          label, member.packed_bytes, member.bytes));
}

}  // namespace

std::unique_ptr<ByteStream> open_zip_member(const ByteSource& source, const ZipMember& member,
                                            const std::string& label) {
  if ((member.flags & kZipEncrypted) != 0) {
    throw Error(Errc::kUnsupported, label + ": encrypted zip member; decrypt the archive first");
  }
  if (member.method != kStored && member.method != kZipDeflated) {
    throw Error(Errc::kUnsupported,
                fmt::format("{}: zip method {}; expected stored (0) or deflated (8)", label,
                            member.method));
  }
  check_sizes(member, label);
  if (member.method == kStored) return std::make_unique<StoredStream>(source, member, label);
  return std::make_unique<InflateStream>(source, member, label);
}

}  // namespace maskctl
