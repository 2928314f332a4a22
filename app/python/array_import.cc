#include "app/python/array_import.h"

#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/tensor/element_types.h"

namespace maskctl::app {
namespace {

namespace nb = nanobind;

/// No array reaches further than this from its first element: processes have 47 bits of addresses.
constexpr Index kFarthest = Index{1} << 47;

/// The description that an object gives of its memory. Strides count elements; without strides, the
/// order is C's.
struct Claim {
  const void* data = nullptr;
  nb::dlpack::dtype dtype = {};
  std::vector<Index> shape;
  std::optional<std::vector<Index>> strides = {};
  MemoryPlace place = {};
};

/// A tensor in a capsule of DLPack 1.
struct VersionedTensor {
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(VersionedTensor*);
  std::uint64_t flags;
  nb::dlpack::dltensor tensor;
};

[[noreturn]] void refuse(const std::string& name, std::string_view why) {
  throw Error(Errc::kInvalidArgument, fmt::format("{}: {}", name, why));
}

/// Clears the exception that an object raised. One that is no subclass of Exception, such as
/// KeyboardInterrupt, is thrown instead.
void forget_exception() {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) throw nb::python_error();
  PyErr_Clear();
}

DType dtype_of(const std::string& name, nb::dlpack::dtype dtype) {
  for (const ElementType& row : kElementTypes) {
    const bool same = row.dlpack == dtype.code && 8 * row.bytes == dtype.bits;
    if (same && dtype.lanes == 1) return row.dtype;
  }
  constexpr int kComplex = 5;  // in DLPack
  const std::string type = dtype.code == kComplex
                               ? fmt::format("complex{}", dtype.bits)
                               : fmt::format("{} bits, DLPack code {}", dtype.bits, dtype.code);
  refuse(name, fmt::format("elements of a type that no mask has ({}); expected bool, integers or "
                           "floats of 8, 16, 32 or 64 bits",
                           type));
}

/// How many elements lie between the first and the farthest one; nothing when it overflows.
std::optional<Index> reach_of(const std::vector<Index>& shape, const std::vector<Index>& strides) {
  Index out = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const auto farthest = checked_mul(shape[axis] - 1, strides[axis]);
    if (!farthest || *farthest == INT64_MIN) return std::nullopt;
    const auto sum = checked_add(out, *farthest < 0 ? -*farthest : *farthest);
    if (!sum) return std::nullopt;
    out = *sum;
  }
  return out;
}

TensorView checked(const std::string& name, const Claim& claim) {
  const DType dtype = dtype_of(name, claim.dtype);
  const auto elements = checked_product(claim.shape);
  const Index most = kFarthest / element_type(dtype).bytes;
  if (!elements || (!claim.strides && *elements > most)) {
    refuse(name, fmt::format("an array of shape {} fits no memory", shape_text(claim.shape)));
  }
  if (*elements > 0 && claim.strides &&
      reach_of(claim.shape, *claim.strides).value_or(most) >= most) {
    refuse(name, "the strides of the array lead out of memory");
  }
  const bool host = claim.place.space == MemorySpace::kHost;
  if (host && *elements > 0 && !claim.data) {
    refuse(name, fmt::format("an array of shape {} without memory, as fake tensors and freed "
                             "storages have; give one with its elements",
                             shape_text(claim.shape)));
  }
  const auto* data = static_cast<const std::byte*>(claim.data);
  if (!claim.strides) return {data, dtype, claim.shape, claim.place};
  return {data, dtype, claim.shape, *claim.strides, claim.place};
}

/// The element type of a buffer: a letter of Python's module struct, in native byte order.
std::optional<nb::dlpack::dtype> dtype_of(const Py_buffer& buffer) {
  std::string_view format = buffer.format ? buffer.format : "B";
  const bool little = std::endian::native == std::endian::little;
  if (format.find_first_of(little ? "@=<" : "@=>!") == 0) format.remove_prefix(1);
  constexpr std::pair<std::string_view, int> kCodes[] = {
      {"cbhilqn", 0}, {"BHILQN", 1}, {"efd", 2}, {"?", 6}};
  for (const auto& [letters, code] : kCodes) {
    const bool fits = buffer.itemsize >= 1 && buffer.itemsize <= 8;
    if (format.size() != 1 || !fits || letters.find(format) == letters.npos) continue;
    return nb::dlpack::dtype{static_cast<std::uint8_t>(code),
                             static_cast<std::uint8_t>(8 * buffer.itemsize), 1};
  }
  return std::nullopt;
}

/// Nothing for buffers that are no arrays of elements of a known type.
std::optional<Claim> claim_of(const Py_buffer& buffer) {
  const auto dtype = dtype_of(buffer);
  const bool indirect = buffer.suboffsets != nullptr;
  if (!dtype || indirect || buffer.ndim < 0 || (buffer.ndim > 0 && !buffer.shape)) return {};
  Claim out{
      .data = buffer.buf, .dtype = *dtype, .shape = {buffer.shape, buffer.shape + buffer.ndim}};
  const auto elements = checked_product(out.shape);
  if (!elements || *elements > buffer.len / buffer.itemsize) return {};
  if (!buffer.strides) return out;  // ctypes gives none
  out.strides.emplace();
  for (int axis = 0; axis < buffer.ndim; ++axis) {
    if (buffer.strides[axis] % buffer.itemsize != 0) return {};
    out.strides->push_back(buffer.strides[axis] / buffer.itemsize);
  }
  return out;
}

const nb::dlpack::dltensor* tensor_of(PyObject* capsule) {
  constexpr const char *kPlain = "dltensor", *kVersioned = "dltensor_versioned";
  if (PyCapsule_IsValid(capsule, kPlain)) {  // the tensor is the first member of what it holds
    return static_cast<const nb::dlpack::dltensor*>(PyCapsule_GetPointer(capsule, kPlain));
  }
  if (!PyCapsule_IsValid(capsule, kVersioned)) return nullptr;
  const auto* held = static_cast<const VersionedTensor*>(PyCapsule_GetPointer(capsule, kVersioned));
  return held->major == 1 ? &held->tensor : nullptr;
}

Claim claim_of(const std::string& name, const nb::dlpack::dltensor& tensor) {
  const auto rank = static_cast<std::size_t>(std::max(tensor.ndim, 0));
  if (tensor.ndim < 0 || rank > TensorView::kMaxRank || (rank > 0 && !tensor.shape)) {
    refuse(name, fmt::format("an array of {} axes; expected 1 to {}, with their lengths",
                             tensor.ndim, TensorView::kMaxRank));
  }
  const auto device = tensor.device.device_type;
  const bool host = device == nb::device::cpu::value || device == nb::device::cuda_host::value;
  Claim out{.dtype = tensor.dtype,
            .shape = {tensor.shape, tensor.shape + rank},
            .place = {host ? MemorySpace::kHost : MemorySpace::kDevice, tensor.device.device_id}};
  if (tensor.data) out.data = static_cast<const std::byte*>(tensor.data) + tensor.byte_offset;
  if (tensor.strides) out.strides.emplace(tensor.strides, tensor.strides + rank);
  return out;
}

nb::object capsule_of(nb::handle object) {
  if (PyCapsule_CheckExact(object.ptr())) return nb::borrow(object);
  nb::object method = nb::steal(PyObject_GetAttrString(object.ptr(), "__dlpack__"));
  nb::object capsule;
  if (method.is_valid()) capsule = nb::steal(PyObject_CallNoArgs(method.ptr()));
  if (!capsule.is_valid()) forget_exception();
  return capsule;
}

/// " of dtype <U1"; empty for objects without a dtype that can be said.
std::string dtype_words(nb::handle object) {
  nb::object text;
  const nb::object dtype = nb::steal(PyObject_GetAttrString(object.ptr(), "dtype"));
  if (dtype.is_valid()) text = nb::steal(PyObject_Str(dtype.ptr()));
  if (text.is_valid()) return " of dtype " + printable(nb::cast<std::string>(text));
  forget_exception();
  return "";
}

[[noreturn]] void refuse_object(const std::string& name, nb::handle object) {
  refuse(name, fmt::format("a {}{} cannot be read as an array; expected bool, integers or floats "
                           "behind DLPack or the buffer protocol, as numpy, torch and JAX have",
                           nb::cast<std::string>(nb::str(object.type().attr("__name__"))),
                           dtype_words(object)));
}

}  // namespace

ImportedArray::ImportedArray(const std::string& name, nb::handle object) {
  if (PyObject_CheckBuffer(object.ptr())) {
    auto buffer = std::make_unique<Py_buffer>();
    if (PyObject_GetBuffer(object.ptr(), buffer.get(), PyBUF_RECORDS_RO) == 0) {
      buffer_.reset(buffer.release());
      if (const auto claim = claim_of(*buffer_)) {
        view_ = checked(name, *claim);
        return;
      }
      buffer_.reset();
    } else {
      forget_exception();
    }
  }
  capsule_ = capsule_of(object);
  const nb::dlpack::dltensor* tensor = capsule_.is_valid() ? tensor_of(capsule_.ptr()) : nullptr;
  if (!tensor) refuse_object(name, object);
  view_ = checked(name, claim_of(name, *tensor));
}

}  // namespace maskctl::app
