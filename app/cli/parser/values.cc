// Parses the values of options.
#include "app/cli/parser/values.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/pipeline/parse/diagnostic.h"
#include "maskctl/pipeline/parse/values.h"
#include "maskctl/tensor/element_types.h"

namespace maskctl::app {
namespace {

[[noreturn]] void refuse(std::string_view option, std::string_view text, std::string_view wanted) {
  throw Error(Errc::kInvalidArgument,
              fmt::format("{} '{}': expected {}", option, printable(text), wanted));
}

struct Unit {
  std::string_view name;
  Index bytes;
};
constexpr Unit kByteUnits[] = {
    {"", 1},
    {"B", 1},
    {"K", 1 << 10},
    {"KiB", 1 << 10},
    {"KB", 1000},
    {"M", 1 << 20},
    {"MiB", 1 << 20},
    {"MB", 1000000},
    {"G", 1 << 30},
    {"GiB", 1 << 30},
    {"GB", 1000000000},
    {"T", Index{1} << 40},
    {"TiB", Index{1} << 40},
    {"TB", 1000000000000},
};

}  // namespace

Index parse_integer(std::string_view text, std::string_view option, Index low, Index high) {
  const auto value = whole_number_from(text);
  if (!value || *value < low || *value > high) {
    refuse(option, text, fmt::format("a whole number from {} to {}", low, high));
  }
  return *value;
}

double parse_number(std::string_view text, std::string_view option) {
  if (const auto value = real_from(text); value && *value >= 0) return *value;
  refuse(option, text, "a number of at least 0");
}

double parse_negative(std::string_view text, std::string_view option) {
  if (const auto value = real_from(text); value && *value < 0) return *value;
  refuse(option, text, "a number below 0");
}

Index parse_size(std::string_view text, std::string_view option) {
  constexpr std::string_view kWanted = "a size such as 4GiB, 512MB or 65536";
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = number_from<Index>(text.substr(0, digits));
  if (!number) refuse(option, text, kWanted);
  for (const Unit& unit : kByteUnits) {
    if (unit.name != text.substr(digits)) continue;
    if (const auto bytes = checked_mul(*number, unit.bytes)) return *bytes;
  }
  refuse(option, text, kWanted);
}

BlockSize parse_block(std::string_view text, std::string_view option) {
  if (const auto size = block_size_from(text)) return *size;
  refuse(option, text, "a block size such as 64 or 64x128 (queries x keys)");
}

std::vector<std::string> parse_list(std::string_view text) {
  std::string marks(text);
  std::ranges::replace(marks, ',', '+');
  std::vector<std::string> out;
  for (const std::string_view part : split(marks, '+')) out.emplace_back(part);
  return out;
}

std::vector<BlockSize> parse_blocks(std::string_view text, std::string_view option) {
  std::vector<BlockSize> blocks;
  for (const std::string& part : parse_list(text)) blocks.push_back(parse_block(part, option));
  return blocks;
}

std::vector<Index> parse_shape(std::string_view text, std::string_view option) {
  std::vector<Index> shape;
  for (const std::string& part : parse_list(text)) {
    const auto extent = whole_number_from(part);
    if (!extent || *extent < 0) refuse(option, text, "four extents B+H+Q+K, such as 2+1+512+512");
    shape.push_back(*extent);
  }
  if (shape.size() != 4) refuse(option, text, "four extents B+H+Q+K, such as 2+1+512+512");
  return shape;
}

DType parse_dtype(std::string_view text, std::string_view option) {
  std::vector<std::string_view> names;
  names.reserve(kElementTypes.size());
  for (const ElementType& type : kElementTypes) names.push_back(type.name);
  return kElementTypes[parse_choice(text, option, names)].dtype;
}

std::vector<std::string_view> kind_names(bool writable) {
  std::vector<std::string_view> names;
  for (const ArrayKind kind : all_kinds()) {
    const bool written = is_writable(kind) || kind == ArrayKind::kMaskFile;
    if (!writable || written) names.push_back(name(kind));
  }
  return names;
}

ArrayKind parse_kind(std::string_view text, std::string_view option, bool writable) {
  std::string spelled(text);
  for (const ArrayKind kind : all_kinds()) {
    std::string plain(name(kind));
    for (std::string* word : {&plain, &spelled}) {
      for (char& c : *word) c = c == '_' ? '-' : c;
    }
    if (plain == spelled) return kind;
  }
  const std::vector<std::string_view> names = kind_names(writable);
  return kind_from_name(names[parse_choice(text, option, names)]);
}

std::size_t parse_choice(std::string_view text, std::string_view option,
                         std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return i;
  }
  const auto near = nearest(text, names);
  refuse(option, text,
         fmt::format("one of {}{}", joined(names, ", "),
                     near ? fmt::format("; did you mean '{}'?", *near) : ""));
}

}  // namespace maskctl::app
