// Which element types of .npy can be read, and the reasons why others cannot.
#include "maskctl/io/formats/npy/npy_descr.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/tensor/element_types.h"

namespace maskctl {
namespace {

/// `|V2`: two raw bytes, which for numpy have no byte order.
constexpr std::string_view kRawBFloat16 = element_type(DType::kBFloat16).npy;

std::optional<DType> find_code(std::string_view code) {
  if (code == "?") return DType::kBool;
  if (code.empty()) return std::nullopt;
  const auto row = std::ranges::find(kElementTypes, code, &ElementType::npy);
  if (row == kElementTypes.end()) return std::nullopt;
  return row->dtype;
}

/// For an element type that maskctl cannot read: says what it is, and what the user can do. Empty
/// if the code is unknown.
std::string_view reason(std::string_view code) {
  if (code == "f1" || code == "V1") {
    return "8-bit floats (or other one-byte records); convert to float16 or float32, or save as "
           ".safetensors";
  }
  if (code == "f12" || code == "f16") return "long double; convert to float64 first";
  switch (code.empty() ? '\0' : code.front()) {
    case 'c':
      return "complex numbers; save the real part";
    case 'S':
    case 'a':
    case 'U':
      return "strings";
    case 'M':
      return "dates";
    case 'm':
      return "time differences";
    case 'V':
      return "raw bytes of unknown type";
    default:
      return "";
  }
}

[[noreturn]] void refuse(std::string_view descr, std::string_view code) {
  if (code.starts_with('O')) {
    throw Error(Errc::kUnsupported,
                "contains Python objects (pickle); maskctl never executes pickle");
  }
  const std::string_view why = reason(code);
  throw Error(Errc::kUnsupported,
              fmt::format("dtype '{}'{}{}; expected bool, an integer or a float of 2, 4 or 8 bytes",
                          printable(descr), why.empty() ? "" : ": ", why));
}

}  // namespace

NpyElement parse_npy_descr(std::string_view descr) {
  constexpr bool kNativeIsBig = std::endian::native == std::endian::big;
  if (const auto dtype = dtype_from_name(descr)) {
    return {*dtype, kNativeIsBig && size_bytes(*dtype) > 1};
  }
  std::string_view code = descr;
  char order = '=';
  if (!code.empty() && std::string_view("<>=|").find(code.front()) != std::string_view::npos) {
    order = code.front();
    code.remove_prefix(1);
  }
  if (code == kRawBFloat16 && order != '>') return {DType::kBFloat16, kNativeIsBig};
  const auto dtype = find_code(code);
  if (!dtype || code == kRawBFloat16) refuse(descr, code);
  const bool big = order == '>' || (order != '<' && kNativeIsBig);
  return {*dtype, big && size_bytes(*dtype) > 1};
}

std::string dtype_text(std::string_view descr) {
  try {
    return std::string(name(parse_npy_descr(descr).dtype));
  } catch (const Error&) {
    return printable(descr);
  }
}

std::string npy_descr(DType dtype) {
  const ElementType& type = element_type(dtype);
  if (type.npy.empty()) {
    throw Error(Errc::kUnsupported,
                fmt::format("{} has no name in .npy, .npz and HDF5; write a .safetensors, or "
                            "convert to float16",
                            type.name));
  }
  return (type.bytes == 1 ? "|" : "<") + std::string(type.npy);
}

}  // namespace maskctl
