// Names and sizes of the element types.
#include "maskctl/tensor/dtype.h"

#include <array>

namespace maskctl {
namespace {

struct Entry {
  DType dtype;
  std::string_view name;
  Index bytes;
};

constexpr std::array kEntries = {
    Entry{DType::kBool, "bool", 1},         Entry{DType::kInt8, "int8", 1},
    Entry{DType::kInt16, "int16", 2},       Entry{DType::kInt32, "int32", 4},
    Entry{DType::kInt64, "int64", 8},       Entry{DType::kUInt8, "uint8", 1},
    Entry{DType::kUInt16, "uint16", 2},     Entry{DType::kUInt32, "uint32", 4},
    Entry{DType::kUInt64, "uint64", 8},     Entry{DType::kFloat16, "float16", 2},
    Entry{DType::kBFloat16, "bfloat16", 2}, Entry{DType::kFloat32, "float32", 4},
    Entry{DType::kFloat64, "float64", 8},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kEntries.size(); ++i) {
    if (static_cast<std::size_t>(kEntries[i].dtype) != i) return false;
  }
  return true;
}
static_assert(in_order(), "the table is indexed by the enumerator");

const Entry& entry(DType dtype) { return kEntries[static_cast<std::size_t>(dtype)]; }

}  // namespace

Index size_bytes(DType dtype) { return entry(dtype).bytes; }

std::string_view name(DType dtype) { return entry(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const Entry& e : kEntries) {
    if (e.name == name) return e.dtype;
  }
  return std::nullopt;
}

bool is_integer(DType dtype) { return dtype >= DType::kInt8 && dtype <= DType::kUInt64; }

bool is_floating(DType dtype) { return dtype >= DType::kFloat16; }

}  // namespace maskctl
