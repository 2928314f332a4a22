#include "conformance/args.h"

#include "conformance/mismatch.h"
#include "maskctl/ejkernel/mask_info/python_error.h"
#include "maskctl/tensor/convert.h"

namespace conformance {

using maskctl::Array;
using maskctl::AxisName;
using maskctl::DType;
using maskctl::Index;
using maskctl::PythonError;
using maskctl::PythonType;
using maskctl::Tensor;

namespace {

Index integer_of(const Value& value) {
  if (value.is_none()) throw PythonError(PythonType::kTypeError, "None where a number is needed");
  if (const bool* flag = value.get_if<bool>()) return *flag;
  return value.as<std::int64_t>();
}

/// The dtype that jnp.asarray gives a Python number.
DType dtype_of(const Value& number) {
  if (number.get_if<bool>()) return DType::kBool;
  return number.get_if<double>() ? DType::kFloat32 : DType::kInt32;
}

Tensor tensor_of_numbers(const Value::List& numbers) {
  Tensor out(DType::kFloat64, {static_cast<Index>(numbers.size())});
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    out.as<double>()[i] = numbers[i].get_if<bool>() ? numbers[i].as<bool>() : numbers[i].number();
  }
  return astype(out, numbers.empty() ? DType::kFloat32 : dtype_of(numbers[0]));
}

}  // namespace

AxisName axis_name_of(const Value& value) {
  if (value.is_none()) return std::monostate();
  if (const std::string* name = value.get_if<std::string>()) return *name;
  std::vector<std::string> names;
  for (const Value& name : value.as<Value::List>()) names.push_back(name.as<std::string>());
  return names;
}

Value value_of(const AxisName& name) {
  if (const auto* one = std::get_if<std::string>(&name)) return *one;
  const auto* many = std::get_if<std::vector<std::string>>(&name);
  if (!many) return {};
  return Value::List(many->begin(), many->end());
}

bool Args::has(const std::string& name) {
  used_.insert(name);
  return args_.find(name) != nullptr;
}

bool Args::given(const std::string& name) { return has(name) && !value(name).is_none(); }

const Value& Args::value(const std::string& name) {
  used_.insert(name);
  return args_.at(name);
}

void Args::check_all_used() const {
  for (const auto& [name, value] : args_.as<Value::Dict>()) {
    if (!used_.contains(name)) throw Mismatch("argument " + quoted(name) + " is not known");
  }
}

Index Args::integer(const std::string& name) { return integer_of(value(name)); }

Index Args::integer(const std::string& name, Index absent) {
  return has(name) ? integer(name) : absent;
}

std::optional<Index> Args::optional_integer(const std::string& name) {
  if (!given(name)) return std::nullopt;
  return integer(name);
}

std::vector<Index> Args::integers(const std::string& name) {
  std::vector<Index> out;
  for (const Value& element : value(name).as<Value::List>()) out.push_back(integer_of(element));
  return out;
}

double Args::number(const std::string& name, double absent) {
  return has(name) ? value(name).number() : absent;
}

bool Args::flag(const std::string& name, bool absent) {
  if (!has(name)) return absent;
  const Value& passed = value(name);
  if (const bool* flag = passed.get_if<bool>()) return *flag;
  return !passed.is_none() && passed.number() != 0;
}

std::string Args::text(const std::string& name, const std::string& absent) {
  if (!has(name)) return absent;
  return value(name).is_none() ? "None" : value(name).as<std::string>();
}

DType Args::dtype(const std::string& name, DType absent) {
  if (!has(name)) return absent;
  const auto dtype = maskctl::dtype_from_name(value(name).as<std::string>());
  if (!dtype) throw Mismatch("no dtype " + value(name).text());
  return *dtype;
}

Tensor Args::tensor_of(const Value& passed) const {
  if (passed.get_if<Value::Dict>()) {
    const std::string& name = passed.at("in").as<std::string>();
    const auto key = inputs_.find(name);
    if (key == inputs_.end()) throw Mismatch("the case has no input " + quoted(name));
    return suite_.array(key->second);
  }
  if (const auto* numbers = passed.get_if<Value::List>()) return tensor_of_numbers(*numbers);
  if (passed.is_none()) throw PythonError(PythonType::kTypeError, "None where an array is needed");
  Tensor scalar = tensor_of_numbers({passed});
  scalar.reshape({});
  return scalar;
}

Tensor Args::tensor(const std::string& name) { return tensor_of(value(name)); }

Array Args::array(const std::string& name) {
  return given(name) ? maskctl::make_array(tensor(name)) : nullptr;
}

std::optional<maskctl::MaskArray> Args::mask_array(const std::string& name) {
  if (!given(name)) return std::nullopt;
  return maskctl::MaskArray(tensor(name));
}

maskctl::QkvArrays Args::one_or_pair(const std::string& name) {
  const auto* pair = value(name).get_if<Value::List>();
  if (!pair) return {array(name), nullptr};
  if (pair->size() != 2) throw Mismatch(quoted(name) + " is a tuple, but not of two");
  return {maskctl::make_array(tensor_of((*pair)[0])), maskctl::make_array(tensor_of((*pair)[1]))};
}

maskctl::PerBatch Args::per_batch(const std::string& name) {
  const Value& passed = value(name);
  if (passed.get_if<Value::Dict>() || passed.get_if<Value::List>()) return array(name);
  return integer_of(passed);
}

AxisName Args::axis_name(const std::string& name, const AxisName& absent) {
  return has(name) ? axis_name_of(value(name)) : absent;
}

maskctl::Mesh Args::mesh(const std::string& name) {
  maskctl::Mesh mesh;
  for (const Value& axis : value(name).at("axis_names").as<Value::List>()) {
    mesh.axis_names.push_back(axis.as<std::string>());
  }
  for (const Value& size : value(name).at("axis_sizes").as<Value::List>()) {
    mesh.axis_sizes.push_back(integer_of(size));
  }
  return mesh;
}

maskctl::PartitionSpec Args::partition_spec(const std::string& name) {
  maskctl::PartitionSpec spec;
  for (const Value& entry : value(name).as<Value::List>()) {
    spec.axes.push_back(axis_name_of(entry));
  }
  return spec;
}

}  // namespace conformance
