// Reads a .npy by parts, from files and from pipes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/io/formats/formats.h"
#include "maskctl/io/formats/npy/npy.h"

namespace maskctl {
namespace {

constexpr Index kMaxHeader = 10000;  // bytes, as in numpy; eight dimensions need far fewer

Index read_length(std::span<const std::byte> bytes) {
  Index value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | std::to_integer<Index>(bytes[i]);
  return value;
}

/// Reads exactly out.size() bytes of the header.
void read_header_part(ByteSource& source, std::span<std::byte> out) {
  const Index got = source.read(out);
  if (got < static_cast<Index>(out.size())) {
    throw Error(Errc::kFormat, fmt::format("truncated .npy header: expected {} bytes more",
                                           static_cast<Index>(out.size()) - got));
  }
}

Index read_header_length(ByteSource& source) {
  std::array<std::byte, 8> start;
  read_header_part(source, start);
  const int major = std::to_integer<int>(start[6]);
  const int minor = std::to_integer<int>(start[7]);
  if (major < 1 || major > 3 || minor != 0) {
    throw Error(Errc::kUnsupported,
                fmt::format(".npy version {}.{}; expected 1.0, 2.0 or 3.0", major, minor));
  }
  std::array<std::byte, 4> length_bytes;
  const std::span<std::byte> length_span = std::span(length_bytes).first(major == 1 ? 2 : 4);
  read_header_part(source, length_span);
  return read_length(length_span);
}

/// Reads the dictionary of the header; then the source is at the data.
std::string read_dictionary(ByteSource& source) {
  if (const FileLook look = look_at(source); look.format != &kNpyFormat) {
    throw Error(Errc::kFormat,
                fmt::format("not a .npy file; it looks like {}{}", look.description, look.remedy));
  }
  const Index length = read_header_length(source);
  if (source.size() && length > *source.size() - source.position()) {
    throw Error(Errc::kFormat,
                fmt::format("truncated .npy header: it has {} bytes, the file {} of them", length,
                            *source.size() - source.position()));
  }
  if (length > kMaxHeader) {
    throw Error(Errc::kLimit,
                fmt::format(".npy header of {} bytes; at most {} are read", length, kMaxHeader));
  }
  std::string text(static_cast<std::size_t>(length), '\0');
  read_header_part(source, std::as_writable_bytes(std::span(text)));
  return text;
}

NpyHeader read_header(ByteSource& source) {
  const Index start = source.position();
  NpyHeader header = parse_npy_header(read_dictionary(source));
  header.data_offset = source.position() - start;
  return header;
}

std::uint16_t swapped(std::uint16_t value) { return __builtin_bswap16(value); }
std::uint32_t swapped(std::uint32_t value) { return __builtin_bswap32(value); }
std::uint64_t swapped(std::uint64_t value) { return __builtin_bswap64(value); }

template <typename T>
void swap_elements(std::span<std::byte> bytes) {
  for (std::size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
    T value;
    std::memcpy(&value, &bytes[i], sizeof(T));
    value = swapped(value);
    std::memcpy(&bytes[i], &value, sizeof(T));
  }
}

void swap_bytes(std::span<std::byte> bytes, Index element_bytes) {
  switch (element_bytes) {
    case 2:
      return swap_elements<std::uint16_t>(bytes);
    case 4:
      return swap_elements<std::uint32_t>(bytes);
    case 8:
      return swap_elements<std::uint64_t>(bytes);
    default:
      return;
  }
}

/// Reports bytes after the data: as a note, or as an error if options.strict.
void report_spare(const std::string& text, const ReadOptions& options,
                  std::vector<std::string>* notes) {
  if (options.strict) throw Error(Errc::kFormat, text);
  if (notes != nullptr) notes->push_back(text + "; the rest is ignored");
}

/// Calls read(). An Error of it gets the name of the source, unless its message has that already.
template <typename F>
auto named_after(const ByteSource& source, const F& read) {
  try {
    return read();
  } catch (const Error& error) {
    const std::string_view message = error.what();
    if (error.code() == Errc::kIo || message.starts_with(source.name() + ":")) throw;
    throw error.within(source.name());
  }
}

}  // namespace

NpyOutline read_npy_outline(ByteSource& source) {
  return named_after(source, [&] { return parse_npy_outline(read_dictionary(source)); });
}

NpyReader::NpyReader(ByteSource source, const ReadOptions& options, std::vector<std::string>* notes)
    : source_(std::make_shared<ByteSource>(std::move(source))), name_(source_->name()) {
  header_ = named_after(*source_, [&] { return read_header(*source_); });
  start_ = source_->position();
  check_size(options, notes);
}

NpyReader::NpyReader(std::shared_ptr<ByteSource> source, Index start, std::string label,
                     NpyHeader header)
    : source_(std::move(source)),
      name_(std::move(label)),
      header_(std::move(header)),
      start_(start),
      alone_(false) {}

void NpyReader::check_size(const ReadOptions& options, std::vector<std::string>* notes) const {
  if (!source_->size()) return;
  const Index got = *source_->size() - start_;
  if (got == header_.data_bytes) return;
  const std::string text =
      fmt::format("{}: expected {} bytes of data, got {}", name(), header_.data_bytes, got);
  if (got < header_.data_bytes) throw Error(Errc::kFormat, text + "; the file is truncated");
  report_spare(text, options, notes);
}

void NpyReader::read_rows(Index first_element, std::span<std::byte> out) {
  const Index element = size_bytes(header_.dtype);
  const auto count = static_cast<Index>(out.size());
  const auto first = checked_mul(first_element, element);
  if (first_element < 0 || !first || count % element != 0 || *first > header_.data_bytes ||
      count > header_.data_bytes - *first) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: {} bytes requested from element {} of an array of {} elements",
                            name(), count, first_element, header_.elements()));
  }
  Index got = 0;
  if (source_->seekable()) {
    got = source_->read_at(start_ + *first, out);
  } else {
    if (*first != next_byte_) {
      throw Error(Errc::kInvalidArgument,
                  fmt::format("{}: element {} requested out of order; a pipe is read front to back",
                              name(), first_element));
    }
    got = source_->read(out);
    next_byte_ += got;
  }
  if (got < count) {
    throw Error(Errc::kFormat, fmt::format("{}: expected {} bytes of data, got {}", name(),
                                           header_.data_bytes, *first + got));
  }
  const bool native_big = std::endian::native == std::endian::big;
  if (header_.big_endian != native_big) swap_bytes(out, element);
}

bool NpyReader::look(Index first_element, std::span<std::byte> out) {
  if (source_->seekable()) {
    read_rows(first_element, out);
    return true;
  }
  constexpr Index kFarthest = Index{1} << 20;
  const Index first = first_element * size_bytes(header_.dtype) - next_byte_;
  const Index end = first + static_cast<Index>(out.size());
  if (first < 0 || end > kFarthest) return false;
  const auto ahead = source_->peek(end);
  if (static_cast<Index>(ahead.size()) < end) return false;
  std::ranges::copy(ahead.subspan(static_cast<std::size_t>(first)), out.begin());
  if (header_.big_endian != (std::endian::native == std::endian::big)) {
    swap_bytes(out, size_bytes(header_.dtype));
  }
  return true;
}

void NpyReader::finish(const ReadOptions& options, std::vector<std::string>* notes) {
  if (!alone_ || source_->size() || next_byte_ < header_.data_bytes || source_->peek(1).empty()) {
    return;
  }
  report_spare(fmt::format("{}: expected {} bytes of data, got more", name(), header_.data_bytes),
               options, notes);
}

Index count_noncanonical_bools(std::span<const std::byte> bytes) {
  return std::count_if(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; });
}

Index count_noncanonical_bools(const Tensor& tensor) {
  return tensor.dtype() == DType::kBool ? count_noncanonical_bools(tensor.bytes()) : 0;
}

}  // namespace maskctl
