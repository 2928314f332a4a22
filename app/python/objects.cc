#include "app/python/objects.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstdint>

#include "app/python/array_import.h"
#include "maskctl/tensor/element_types.h"
#include "maskctl/tensor/lines.h"

namespace maskctl::app {

nb::object value_of(const Json& json, const nb::object& type) {
  if (const Json::Items* items = json.items()) {
    nb::list out;
    for (const Json& item : *items) out.append(value_of(item, type));
    return out;
  }
  if (const Json::Members* members = json.members()) {
    nb::object out = type();
    for (const auto& [key, value] : *members) out[key.c_str()] = value_of(value, type);
    return out;
  }
  if (const bool* flag = std::get_if<bool>(&json.value())) return nb::bool_(*flag);
  if (const auto* number = std::get_if<std::int64_t>(&json.value())) return nb::int_(*number);
  if (const double* number = std::get_if<double>(&json.value())) {
    return std::isfinite(*number) ? nb::object(nb::float_(*number)) : nb::object(nb::none());
  }
  if (const auto* text = std::get_if<std::string>(&json.value())) {
    PyObject* decoded =
        PyUnicode_DecodeUTF8(text->data(), static_cast<Py_ssize_t>(text->size()), "replace");
    if (!decoded) nb::raise_python_error();
    return nb::steal(decoded);
  }
  return nb::none();
}

nb::object Fields::operator()(const nb::object& type) {
  if (make_) json_ = std::exchange(make_, nullptr)();
  return value_of(json_, type);
}

Words words_of(std::vector<std::string> operands, const Options& options) {
  Words out{std::move(operands), {}};
  for (const auto& [name, value] : options) {
    if (nb::isinstance<nb::int_>(value)) {
      out.options.emplace_back(name, nb::cast<Index>(value));
    } else if (nb::isinstance<nb::float_>(value)) {
      out.options.emplace_back(name, nb::cast<double>(value));
    } else {
      out.options.emplace_back(name, nb::cast<std::string>(value));
    }
  }
  return out;
}

Source of_mask(Mask mask) { return {loaded_from(std::move(mask))}; }

namespace {

nb::dlpack::dtype dlpack_of(DType dtype) {
  const ElementType& type = element_type(dtype);
  return {type.dlpack, static_cast<std::uint8_t>(8 * type.bytes), 1};
}

}  // namespace

GivenSources given_of(const nb::dict& given) {
  GivenSources out;
  for (const auto& [key, value] : given) {
    const auto name = nb::cast<std::string>(key);
    if (nb::isinstance<Source>(value)) {
      out.emplace(name, nb::cast<const Source&>(value).loaded);
    } else if (nb::isinstance<Copy>(value)) {
      out.emplace(name, nb::cast<const Copy&>(value).tensor);
    } else {
      out.emplace(name, copy_of(ImportedArray(name, value).view()));
    }
  }
  return out;
}

GivenRun given_run_of(const std::string& name, const nb::handle& object) {
  if (nb::isinstance<nb::str>(object)) return nb::cast<std::string>(object);
  NamedRun out{name, {}};
  for (const nb::handle& one : nb::cast<nb::list>(object)) {
    const auto layer = nb::cast<nb::tuple>(one);
    CapturedLayer made{nb::cast<std::string>(layer[0]), {}, nb::cast<std::string>(layer[2])};
    for (const nb::handle& mask : nb::cast<nb::list>(layer[1])) {
      made.masks.push_back(nb::cast<const Source&>(mask).loaded.mask);
    }
    out.layers.push_back(std::move(made));
  }
  return out;
}

nb::object exported(Tensor&& tensor) {
  auto* held = new Tensor(std::move(tensor));
  const nb::capsule owner(held, [](void* p) noexcept { delete static_cast<Tensor*>(p); });
  const std::vector<std::size_t> shape(held->shape().begin(), held->shape().end());
  return nb::cast(nb::ndarray<nb::array_api>(held->bytes().data(), shape.size(), shape.data(),
                                             owner, nullptr, dlpack_of(held->dtype()),
                                             nb::device::cpu::value));
}

PythonAnswer python_answer(Reply&& reply) {
  nb::object fields = reply.json ? nb::cast(Fields(std::move(reply.json))) : nb::none();
  return {std::move(reply.text), std::move(fields), reply.status, std::move(reply.notes)};
}

}  // namespace maskctl::app
