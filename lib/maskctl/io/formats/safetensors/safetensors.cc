#include "maskctl/io/formats/safetensors/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/tensor/element_types.h"

namespace maskctl {
namespace {

using Json = nlohmann::json;

constexpr Index kMostHeaderBytes = 100'000'000;  // the limit of the reference implementation
constexpr std::size_t kMostAxes = 8;
constexpr const char* kMetadata = "__metadata__";

struct Type {
  std::string_view name;
  Index bytes;
  std::optional<DType> dtype;
};

/// Types that are recognised but cannot be read.
constexpr Type kUnread[] = {{"F8_E5M2FNUZ", 1, {}}, {"F8_E4M3FNUZ", 1, {}}, {"C64", 8, {}}};

std::optional<Type> find_type(std::string_view name) {
  const auto row = std::ranges::find(kElementTypes, name, &ElementType::safetensors);
  if (row != kElementTypes.end()) return Type{row->safetensors, row->bytes, row->dtype};
  const auto unread = std::ranges::find(kUnread, name, &Type::name);
  if (unread != std::end(kUnread)) return *unread;
  return std::nullopt;
}

/// The names of the types that can be read: "BOOL, U8, ...".
std::string readable_types() {
  std::vector<std::string_view> names;
  names.reserve(kElementTypes.size());
  for (const ElementType& type : kElementTypes) names.push_back(type.safetensors);
  return joined(names, ", ");
}

[[noreturn]] void fail(const std::string& message) { throw Error(Errc::kFormat, message); }

/// Builds the header from the events of a JSON parser. The only content allowed is an object whose
/// values are objects of strings and lists of whole numbers, so there are at most three levels.
class HeaderReader : public Json::json_sax_t {
 public:
  explicit HeaderReader(SafetensorsHeader& out) : out_(out) {}

  bool start_object(std::size_t) override {
    if (in_list_ || depth_ == 2) fail("the header nests too deep; expected tensors and strings");
    if (++depth_ == 1) return true;
    in_metadata_ = name_ == kMetadata;
    fields_.clear();
    if (!in_metadata_) out_.entries.push_back({name_, "", std::nullopt, {}, 0, 0});
    return true;
  }
  bool key(string_t& text) override {
    auto& seen = depth_ == 1 ? names_ : fields_;
    if (!seen.insert(text).second) {
      fail(fmt::format("the header has two entries '{}'", printable(text)));
    }
    (depth_ == 1 ? name_ : field_) = text;
    return true;
  }
  bool end_object() override {
    if (depth_-- == 1 || in_metadata_) return true;
    if (fields_.size() == 3) return true;
    fail(fmt::format("tensor '{}' lacks a field; expected dtype, shape and data_offsets",
                     printable(name_)));
  }
  bool string(string_t& text) override {
    if (depth_ == 2 && !in_list_ && in_metadata_) {
      out_.metadata.emplace_back(field_, text);
      return true;
    }
    if (depth_ != 2 || in_list_ || field_ != "dtype") unexpected("a string");
    out_.entries.back().dtype_name = text;
    if (const auto type = find_type(text)) out_.entries.back().dtype = type->dtype;
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ != 2 || in_metadata_ || in_list_ ||
        (field_ != "shape" && field_ != "data_offsets")) {
      unexpected("a list");
    }
    in_list_ = true;
    numbers_.clear();
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (!in_list_) unexpected("a number");
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<Index>::max())) {
      fail(fmt::format("tensor '{}': {} in {} is too large", printable(name_), value, field_));
    }
    if (numbers_.size() == kMostAxes) {
      fail(fmt::format("tensor '{}': {} of more than {} numbers", printable(name_), field_,
                       kMostAxes));
    }
    numbers_.push_back(static_cast<Index>(value));
    return true;
  }
  bool end_array() override {
    in_list_ = false;
    SafetensorsEntry& entry = out_.entries.back();
    if (field_ == "shape") {
      entry.shape = numbers_;
      return true;
    }
    if (numbers_.size() != 2) {
      fail(fmt::format("tensor '{}': data_offsets of {} numbers; expected begin and end",
                       printable(name_), numbers_.size()));
    }
    entry.begin = numbers_[0];
    entry.end = numbers_[1];
    return true;
  }
  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a bool"); }
  bool number_integer(number_integer_t) override { unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { unexpected("a fraction"); }
  bool binary(binary_t&) override { unexpected("binary data"); }
  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    fail(fmt::format("the header is not valid JSON at byte {}", position));
  }

 private:
  [[noreturn]] void unexpected(const char* what) const {
    if (depth_ < 2) fail(fmt::format("{} where the header should hold a tensor", what));
    const char* place = in_metadata_ ? "__metadata__" : "tensor";
    fail(fmt::format("{} in '{}' of {} '{}'; expected {}", what, printable(field_), place,
                     printable(in_metadata_ ? kMetadata : name_),
                     in_metadata_ ? "strings" : "dtype, shape and data_offsets"));
  }

  SafetensorsHeader& out_;
  int depth_ = 0;
  bool in_metadata_ = false, in_list_ = false;
  std::string name_, field_;
  std::unordered_set<std::string> names_, fields_;
  std::vector<Index> numbers_;
};

void check_size(const SafetensorsEntry& entry) {
  const auto elements = checked_product(entry.shape);
  const auto type = find_type(entry.dtype_name);
  const auto bytes = elements ? checked_mul(*elements, type ? type->bytes : 1) : std::nullopt;
  const bool unknown_size = elements && !type;
  if (entry.begin <= entry.end && (unknown_size || bytes == entry.end - entry.begin)) return;
  fail(fmt::format("tensor '{}': {} of {} takes {} bytes, but its data goes from {} to {}",
                   printable(entry.name), shape_text(entry.shape), printable(entry.dtype_name),
                   bytes ? fmt::format("{}", *bytes) : "too many", entry.begin, entry.end));
}

/// Checks that the data of the tensors is contiguous: no overlap and no gaps.
void check_layout(SafetensorsHeader& header) {
  for (const SafetensorsEntry& entry : header.entries) check_size(entry);
  std::ranges::stable_sort(header.entries, {}, [](const SafetensorsEntry& entry) {
    return std::pair(entry.begin, entry.end);
  });
  for (const SafetensorsEntry& entry : header.entries) {
    if (entry.begin != header.data_bytes) {
      fail(
          fmt::format("the data of tensor '{}' starts at {}, {} the previous data, which ends at "
                      "{}",
                      printable(entry.name), entry.begin,
                      entry.begin < header.data_bytes ? "inside" : "past", header.data_bytes));
    }
    header.data_bytes = entry.end;
  }
}

/// Reads the text of the header. Memory grows only with the bytes that arrive.
std::string read_text(ByteSource& source, Index length) {
  constexpr Index kStep = Index{1} << 20;
  std::string text;
  while (static_cast<Index>(text.size()) < length) {
    const std::size_t held = text.size();
    text.resize(held + static_cast<std::size_t>(std::min(kStep, length - std::ssize(text))));
    const auto rest = std::as_writable_bytes(std::span(text)).subspan(held);
    if (source.read(rest) < std::ssize(rest)) {
      fail(fmt::format("the header claims {} bytes, more than there are", length));
    }
  }
  return text;
}

SafetensorsHeader parse_header(ByteSource& source, const ReadOptions& options) {
  const Index start = source.position();
  std::array<std::byte, 8> length_bytes;
  if (source.read(length_bytes) < 8) fail("not a safetensors file: shorter than 8 bytes");
  std::uint64_t claimed = 0;
  for (std::size_t i = 8; i-- > 0;)
    claimed = claimed << 8 | std::to_integer<unsigned>(length_bytes[i]);
  const Index limit = std::min(kMostHeaderBytes, options.max_bytes);
  if (claimed > static_cast<std::uint64_t>(limit)) {
    throw Error(Errc::kLimit,
                fmt::format("safetensors header of {} bytes; at most {} are read", claimed, limit));
  }
  const auto length = static_cast<Index>(claimed);
  if (source.size() && length > *source.size() - source.position()) {
    fail(fmt::format("the header claims {} bytes, the file has {} more", length,
                     *source.size() - source.position()));
  }
  const std::string text = read_text(source, length);
  if (!text.starts_with('{')) fail("the header does not start with '{'");
  SafetensorsHeader header;
  HeaderReader reader(header);
  Json::sax_parse(text, &reader);
  check_layout(header);
  header.data_offset = source.position() - start;
  const auto got = source.size() ? *source.size() - source.position() : header.data_bytes;
  if (got != header.data_bytes) {
    fail(fmt::format("expected {} bytes of data, got {}", header.data_bytes, got));
  }
  return header;
}

std::string quoted(const std::string& text) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("'{}' cannot name a tensor: it is not UTF-8", printable(text)));
  }
}

void append_entry(std::string& text, const std::string& name, std::string_view dtype,
                  std::span<const Index> shape, Range data) {
  text += fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                      text.size() > 1 ? "," : "", quoted(name), dtype, joined(shape, ","),
                      data.begin, data.end);
}

void check_name(const std::string& name, std::unordered_set<std::string>& seen) {
  if (name.empty() || name == kMetadata) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("'{}' cannot name a tensor in a safetensors file", printable(name)));
  }
  if (seen.insert(name).second) return;
  throw Error(Errc::kInvalidArgument,
              fmt::format("two tensors named '{}' for one safetensors file", printable(name)));
}

Index bytes_of(const ArraySpec& tensor) {
  const auto elements = checked_product(tensor.shape);
  const auto bytes = elements ? checked_mul(*elements, size_bytes(tensor.dtype)) : std::nullopt;
  if (bytes) return *bytes;
  throw Error(Errc::kShape,
              fmt::format("shape {} is too large to write", shape_text(tensor.shape)));
}

}  // namespace

SafetensorsHeader read_safetensors_header(ByteSource& source, const ReadOptions& options) {
  try {
    return parse_header(source, options);
  } catch (const Error& error) {
    if (error.code() == Errc::kIo) throw;
    throw error.within(source.name());
  }
}

SafetensorsFile::SafetensorsFile(ByteSource source, const ReadOptions& options)
    : name_(source.name()), source_(std::make_shared<ByteSource>(std::move(source))) {
  header_ = read_safetensors_header(*source_, options);
  for (const SafetensorsEntry& entry : header_.entries) {
    places_.emplace(entry.name, keys_.size());
    keys_.push_back(entry.name);
  }
}

bool SafetensorsFile::contains(const std::string& key) const { return places_.contains(key); }

const SafetensorsEntry& SafetensorsFile::find(const std::string& key) const {
  const auto at = places_.find(key);
  if (at != places_.end()) return header_.entries[at->second];
  throw Error(Errc::kInvalidArgument,
              fmt::format("{}: no array '{}'; it has {}", name_, printable(key),
                          keys_.empty() ? "none" : printable_list(keys_)));
}

std::shared_ptr<NpyReader> SafetensorsFile::open(const std::string& key) {
  const SafetensorsEntry& entry = find(key);
  const std::string label = name_ + ":" + printable(key);
  if (!entry.dtype) {
    throw Error(Errc::kUnsupported, fmt::format("{}: dtype {}: expected {}", label,
                                                printable(entry.dtype_name), readable_types()));
  }
  const Index start = header_.data_offset + entry.begin;
  if (!source_->seekable()) {
    if (start < source_->position()) {
      throw Error(Errc::kInvalidArgument,
                  fmt::format("{}: the pipe has passed it; a pipe is read front to back", label));
    }
    source_->skip(start - source_->position());
  }
  return std::make_shared<NpyReader>(
      source_, start, label,
      NpyHeader{*entry.dtype, false, false, entry.shape, start, entry.end - entry.begin});
}

Tensor SafetensorsFile::read(const std::string& key, const ReadOptions& options) {
  return read_npy(*open(key), options);
}

std::vector<std::byte> safetensors_header_bytes(std::span<const ArraySpec> tensors,
                                                const SafetensorsHeader& kept) {
  std::string text = "{";
  if (!kept.metadata.empty()) {
    std::string pairs;
    for (const auto& [key, value] : kept.metadata) {
      pairs += fmt::format("{}{}:{}", pairs.empty() ? "" : ",", quoted(key), quoted(value));
    }
    text += fmt::format("\"{}\":{{{}}}", kMetadata, pairs);
  }
  std::unordered_set<std::string> names;
  Index at = 0;
  for (const SafetensorsEntry& entry : kept.entries) {
    check_name(entry.name, names);
    const Index end = at + entry.end - entry.begin;
    append_entry(text, entry.name, entry.dtype_name, entry.shape, {at, end});
    at = end;
  }
  for (const ArraySpec& tensor : tensors) {
    check_name(tensor.name, names);
    const auto end = checked_add(at, bytes_of(tensor));
    if (!end) throw Error(Errc::kShape, "the tensors are too large to write");
    append_entry(text, tensor.name, element_type(tensor.dtype).safetensors, tensor.shape,
                 {at, *end});
    at = *end;
  }
  text += "}";
  text.append((8 - text.size() % 8) % 8, ' ');
  std::vector<std::byte> out(8 + text.size());
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<std::byte>(text.size() >> (8 * i));
  std::memcpy(out.data() + 8, text.data(), text.size());
  return out;
}

}  // namespace maskctl
