#include "app/hdf5/element.h"

#include <string_view>
#include <vector>

#include "maskctl/tensor/element_types.h"

namespace maskctl::hdf5 {
namespace {

/// The byte order as numpy writes it: '<', '>', or '|' for single bytes; nothing for other orders.
std::optional<char> order_of(hid_t type) {
  if (H5Tget_size(type) == 1) return '|';
  const H5T_order_t order = H5Tget_order(type);
  if (order == H5T_ORDER_LE) return '<';
  if (order == H5T_ORDER_BE) return '>';
  return std::nullopt;
}

/// True if the number uses all bits of its bytes, without padding bits.
bool fills_its_bytes(hid_t type) {
  return H5Tget_precision(type) == 8 * H5Tget_size(type) && H5Tget_offset(type) == 0;
}

std::optional<std::string> integer_descr(hid_t type) {
  const std::size_t size = H5Tget_size(type);
  const auto order = order_of(type);
  const bool known = size == 1 || size == 2 || size == 4 || size == 8;
  if (!known || !order || !fills_its_bytes(type)) return std::nullopt;
  const char sign = H5Tget_sign(type) == H5T_SGN_NONE ? 'u' : 'i';
  return std::string{*order, sign} + std::to_string(size);
}

bool matches(hid_t type, const ElementType& element) {
  std::size_t sign = 0;
  std::size_t exponent_at = 0;
  std::size_t exponent = 0;
  std::size_t mantissa_at = 0;
  std::size_t mantissa = 0;
  if (H5Tget_fields(type, &sign, &exponent_at, &exponent, &mantissa_at, &mantissa) < 0) {
    return false;
  }
  const FloatLayout& layout = element.layout;
  const auto is = [](std::size_t seen, int expected) {
    return seen == static_cast<std::size_t>(expected);
  };
  return is(H5Tget_size(type), element.bytes) && is(sign, layout.bits() - 1) &&
         is(exponent_at, layout.mantissa) && is(exponent, layout.exponent) && is(mantissa_at, 0) &&
         is(mantissa, layout.mantissa) && is(H5Tget_ebias(type), layout.bias()) &&
         H5Tget_norm(type) == H5T_NORM_IMPLIED;
}

std::optional<std::string> float_descr(hid_t type) {
  const auto order = order_of(type);
  if (!order || !fills_its_bytes(type)) return std::nullopt;
  for (const ElementType& element : kElementTypes) {
    const bool is_named = element.kind == ElementKind::kFloat && !element.npy.empty();
    if (!is_named || !matches(type, element)) continue;
    if (element.dtype != DType::kBFloat16) return *order + std::string(element.npy);
    return *order == '<' ? std::optional(std::string(element.name)) : std::nullopt;
  }
  return std::nullopt;
}

std::vector<std::string> member_names(hid_t type) {
  constexpr int kShown = 8;
  std::vector<std::string> out;
  const int count = H5Tget_nmembers(type);
  for (int i = 0; i < count && i < kShown; ++i) {
    char* name = H5Tget_member_name(type, static_cast<unsigned>(i));
    out.emplace_back(name == nullptr ? "?" : name);
    H5free_memory(name);
  }
  return out;
}

/// True for the bool of h5py: a one-byte enumeration with FALSE = 0 and TRUE = 1.
bool is_bool(hid_t type) {
  if (H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2) return false;
  if (member_names(type) != std::vector<std::string>{"FALSE", "TRUE"}) return false;
  // H5Tget_member_value() copies a value in the size of the base type, here one byte.
  for (unsigned i = 0; i < 2; ++i) {
    unsigned char value = 0xFF;
    if (H5Tget_member_value(type, i, &value) < 0 || value != i) return false;
  }
  return true;
}

const char* class_name(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return "an integer of unusual size or bits";
    case H5T_FLOAT:
      return "a float that is neither IEEE nor little-endian bfloat16";
    case H5T_TIME:
      return "a time";
    case H5T_STRING:
      return "string";
    case H5T_BITFIELD:
      return "bit field";
    case H5T_OPAQUE:
      return "opaque bytes";
    case H5T_COMPOUND:
      return "compound";
    case H5T_REFERENCE:
      return "reference";
    case H5T_VLEN:
      return "variable-length lists";
    case H5T_ARRAY:
      return "array of arrays";
    default:
      return "unknown";
  }
}

Handle half_type() {
  Handle type = checked(H5Tcopy(H5T_IEEE_F32LE), "make a type");
  H5Tset_fields(type.get(), 15, 10, 5, 0, 10);
  H5Tset_size(type.get(), 2);
  H5Tset_ebias(type.get(), 15);
  return type;
}

Handle bool_type() {
  Handle type = checked(H5Tenum_create(H5T_STD_I8LE), "make a type");
  const signed char values[] = {0, 1};
  H5Tenum_insert(type.get(), "FALSE", &values[0]);
  H5Tenum_insert(type.get(), "TRUE", &values[1]);
  return type;
}

/// The HDF5 type of a descr. This is a function because the H5T_* constants are valid only after
/// the library has started.
hid_t standard_type(std::string_view descr) {
  if (descr == "|i1") return H5T_STD_I8LE;
  if (descr == "<i2") return H5T_STD_I16LE;
  if (descr == "<i4") return H5T_STD_I32LE;
  if (descr == "<i8") return H5T_STD_I64LE;
  if (descr == "|u1") return H5T_STD_U8LE;
  if (descr == "<u2") return H5T_STD_U16LE;
  if (descr == "<u4") return H5T_STD_U32LE;
  if (descr == "<u8") return H5T_STD_U64LE;
  if (descr == "<f4") return H5T_IEEE_F32LE;
  if (descr == "<f8") return H5T_IEEE_F64LE;
  throw Failure{hdf5_protocol::kArgument, "no HDF5 type for " + std::string(descr)};
}

}  // namespace

std::optional<std::string> descr_of(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return integer_descr(type);
    case H5T_FLOAT:
      return float_descr(type);
    case H5T_ENUM:
      return is_bool(type) ? std::optional<std::string>("|b1") : std::nullopt;
    case H5T_BITFIELD:
      return H5Tget_size(type) == 1 && fills_its_bytes(type) ? std::optional<std::string>("|b1")
                                                             : std::nullopt;
    case H5T_OPAQUE:
      return H5Tget_size(type) == 2 ? std::optional<std::string>("|V2") : std::nullopt;
    default:
      return std::nullopt;
  }
}

std::string class_of(hid_t type) {
  if (H5Tget_class(type) != H5T_ENUM) return class_name(type);
  std::string names;
  for (const std::string& name : member_names(type)) names += (names.empty() ? "" : ", ") + name;
  return "enumeration (" + names + ")";
}

Handle type_of(const std::string& descr) {
  if (descr == "|b1") return bool_type();
  if (descr == "<f2") return half_type();
  if (descr == "<V2") return checked(H5Tcreate(H5T_OPAQUE, 2), "make a type");
  return checked(H5Tcopy(standard_type(descr)), "make a type");
}

}  // namespace maskctl::hdf5
