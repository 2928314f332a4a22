// Parses and writes the dictionary at the start of a .npy file.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/io/formats/npy/npy.h"
#include "maskctl/io/formats/npy/npy_descr.h"

namespace maskctl {
namespace {

constexpr std::size_t kMaxDimensions = 8;

[[noreturn]] void bad_header(const std::string& why) {
  throw Error(Errc::kFormat, "bad .npy header: " + why);
}

/// A recursive-descent parser for
///   header = '{' pair { ',' pair } [','] '}'     pair = string ':' value, blanks anywhere between
/// This is a subset of Python that covers everything numpy has ever written.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  NpyHeader header() {
    parse();
    return finish();
  }

  NpyOutline outline() {
    parse();
    return {std::string(*descr_), *shape_};
  }

 private:
  void parse() {
    expect('{');
    while (!accept('}')) {
      pair();
      if (accept(',')) continue;
      expect('}');
      break;
    }
    skip_blanks();
    if (at_ < text_.size()) bad_header(fmt::format("{} after the dictionary", seen()));
    for (const auto& [present, key] : {std::pair(descr_.has_value(), "descr"),
                                       std::pair(fortran_order_.has_value(), "fortran_order"),
                                       std::pair(shape_.has_value(), "shape")}) {
      if (!present) bad_header(fmt::format("key '{}' is missing", key));
    }
  }

  void pair() {
    const std::string_view key = string("a key in quotes");
    expect(':');
    if (key == "descr") {
      once(descr_, key);
      descr_ = descr();
    } else if (key == "fortran_order") {
      once(fortran_order_, key);
      fortran_order_ = boolean();
    } else if (key == "shape") {
      once(shape_, key);
      shape_ = shape();
    } else {
      bad_header(fmt::format("key '{}'; expected descr, fortran_order and shape", printable(key)));
    }
  }

  template <typename T>
  void once(const std::optional<T>& value, std::string_view key) {
    if (value) bad_header(fmt::format("key '{}' appears twice", key));
  }

  std::string_view descr() {
    skip_blanks();
    if (peek() == '[' || peek() == '(') return nested();
    return string("a dtype in quotes");
  }

  /// Reads a Python list or tuple as text, up to its closing bracket.
  std::string_view nested() {
    const std::size_t start = at_;
    int depth = 0;
    do {
      const char c = peek();
      if (c == '\'' || c == '"') {
        string("a string");
        continue;
      }
      if (at_ >= text_.size()) bad_header("dtype without its closing bracket");
      depth += static_cast<int>(c == '[' || c == '(') - static_cast<int>(c == ']' || c == ')');
      ++at_;
    } while (depth > 0);
    return text_.substr(start, at_ - start);
  }

  bool boolean() {
    skip_blanks();
    for (const auto& [word, value] : {std::pair("True", true), std::pair("False", false)}) {
      const std::string_view name = word;
      if (!text_.substr(at_).starts_with(name)) continue;
      at_ += name.size();
      return value;
    }
    bad_header(fmt::format("fortran_order is {}; expected True or False", seen()));
  }

  std::vector<Index> shape() {
    skip_blanks();
    if (peek() != '(') bad_header(fmt::format("shape is {}; expected a tuple", seen()));
    ++at_;
    std::vector<Index> extents;
    while (!accept(')')) {
      extents.push_back(extent());
      if (extents.size() > kMaxDimensions) {
        throw Error(Errc::kUnsupported, fmt::format("more than {} dimensions", kMaxDimensions));
      }
      if (accept(',')) continue;
      expect(')');
      break;
    }
    return extents;
  }

  /// Reads decimal digits, and the L that Python 2 appended to long integers.
  Index extent() {
    skip_blanks();
    if (peek() == '-') bad_header("negative dimension in shape");
    const std::size_t start = at_;
    std::optional<Index> value = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
      if (value) value = checked_mul(*value, 10);
      if (value) value = checked_add(*value, peek() - '0');
    }
    if (at_ == start) bad_header(fmt::format("{} in shape; expected a whole number", seen()));
    if (text_[start] == '0' && at_ - start > 1)
      bad_header("dimension with a leading zero in shape");
    if (!value) bad_header("a dimension in shape does not fit 64 bits");
    if (peek() == 'L') ++at_;
    return *value;
  }

  std::string_view string(std::string_view expected) {
    skip_blanks();
    const char quote = peek();
    if (quote != '\'' && quote != '"') bad_header(fmt::format("{}; expected {}", seen(), expected));
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) bad_header("string without its closing quote");
    const std::string_view chars = text_.substr(at_ + 1, end - at_ - 1);
    if (chars.find('\\') != std::string_view::npos) bad_header("backslash in a string");
    at_ = end + 1;
    return chars;
  }

  NpyHeader finish() const {
    if (descr_->starts_with('[')) {
      throw Error(Errc::kUnsupported, "structured dtype (records); save one field as an array");
    }
    if (descr_->starts_with('(')) {
      throw Error(Errc::kUnsupported, "subarray dtype; save it as a plain array");
    }
    const NpyElement element = parse_npy_descr(*descr_);
    NpyHeader header;
    header.dtype = element.dtype;
    header.big_endian = element.big_endian;
    header.fortran_order = *fortran_order_;
    header.shape = *shape_;
    const auto elements = checked_product(header.shape);
    const auto bytes = elements ? checked_mul(*elements, size_bytes(header.dtype)) : std::nullopt;
    if (!bytes) {
      throw Error(Errc::kLimit, fmt::format("shape {} of {} does not fit 64 bits",
                                            shape_text(header.shape), name(header.dtype)));
    }
    header.data_bytes = *bytes;
    return header;
  }

  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n\f").find(text_[at_]) != text_.npos)
      ++at_;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool accept(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) bad_header(fmt::format("{}; expected '{}'", seen(), c));
  }
  /// The text at the current position, for messages.
  std::string seen() const {
    if (at_ >= text_.size()) return "the end";
    return fmt::format("'{}'", printable(text_.substr(at_), 12));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<std::string_view> descr_;
  std::optional<bool> fortran_order_;
  std::optional<std::vector<Index>> shape_;
};

/// The number of blanks that pad the header so that the axis along which the array may grow can
/// later be rewritten in place with up to 21 digits, as in numpy.
std::size_t growth_blanks(std::span<const Index> shape, bool fortran_order) {
  constexpr std::size_t kGrowthDigits = 21;
  if (shape.empty()) return 0;
  const Index growing = fortran_order ? shape.back() : shape.front();
  return kGrowthDigits - std::to_string(growing).size();
}

void append_little_endian(std::string& out, std::size_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>((value >> (8 * i)) & 0xFF);
}

}  // namespace

NpyHeader parse_npy_header(std::string_view text) { return HeaderParser(text).header(); }

NpyOutline parse_npy_outline(std::string_view text) { return HeaderParser(text).outline(); }

std::vector<std::byte> npy_header_bytes(DType dtype, std::span<const Index> shape,
                                        bool fortran_order) {
  constexpr std::size_t kAlign = 64;
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", npy_descr(dtype),
                  fortran_order ? "True" : "False", shape_text(shape));
  dictionary.append(growth_blanks(shape, fortran_order), ' ');
  const auto length_with = [&](std::size_t prefix) {  // at least one blank, as in numpy
    const std::size_t used = prefix + dictionary.size() + 1;
    return dictionary.size() + 1 + (kAlign - used % kAlign);
  };
  const bool version_2 = length_with(10) > 0xFFFF;
  const std::size_t prefix = version_2 ? 12 : 10;
  const std::size_t length = length_with(prefix);
  std::string out =
      version_2 ? std::string("\x93NUMPY\x02\0", 8) : std::string("\x93NUMPY\x01\0", 8);
  append_little_endian(out, length, version_2 ? 4 : 2);
  dictionary.append(length - dictionary.size() - 1, ' ');
  out += dictionary + '\n';
  const auto* first = reinterpret_cast<const std::byte*>(out.data());
  return {first, first + out.size()};
}

}  // namespace maskctl
