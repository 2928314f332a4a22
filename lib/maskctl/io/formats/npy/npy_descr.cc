// Which element types of .npy can be read, and why the others cannot.
#include "maskctl/io/formats/npy/npy_descr.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <optional>
#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/io/printable.h"

namespace maskctl {
namespace {

using Code = std::pair<std::string_view, DType>;
constexpr std::array<Code, 13> kCodes = {{
    {"b1", DType::kBool},
    {"?", DType::kBool},
    {"i1", DType::kInt8},
    {"u1", DType::kUInt8},
    {"i2", DType::kInt16},
    {"u2", DType::kUInt16},
    {"i4", DType::kInt32},
    {"u4", DType::kUInt32},
    {"i8", DType::kInt64},
    {"u8", DType::kUInt64},
    {"f2", DType::kFloat16},
    {"f4", DType::kFloat32},
    {"f8", DType::kFloat64},
}};

std::optional<DType> find_code(std::string_view code) {
  for (const auto& [text, dtype] : kCodes) {
    if (text == code) return dtype;
  }
  return std::nullopt;
}

/// What the elements of an unreadable dtype are and what to do about it, or empty.
std::string_view reason(std::string_view code) {
  if (code == "f1" || code == "V1") {
    return "8-bit floats (or other one-byte records); convert to float16 or float32 first";
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
  if (code == "V2" && order != '>') return {DType::kBFloat16, kNativeIsBig};
  const auto dtype = find_code(code);
  if (!dtype) refuse(descr, code);
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
  if (dtype == DType::kBFloat16) return "<V2";
  for (const auto& [text, code_dtype] : kCodes) {
    if (code_dtype == dtype) return (size_bytes(dtype) == 1 ? "|" : "<") + std::string(text);
  }
  throw Error(Errc::kInvalidArgument, "unknown dtype");
}

}  // namespace maskctl
