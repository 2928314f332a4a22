// Tables of all that manifests can name: functions, and constructors, methods and properties of
// MaskInfo.
#pragma once

#include <map>
#include <string>

#include "conformance/args.h"
#include "conformance/expect.h"

namespace conformance {

template <typename F>
using Table = std::map<std::string, F>;

using Function = Outputs (*)(Args&);
const Table<Function>& conversions();
const Table<Function>& sequence_utils();  // also random numbers, partition specs
const Table<Function>& lazy_masks();

using Constructor = maskctl::MaskInfo (*)(Args&);
const Table<Constructor>& constructors();
/// Methods that return a MaskInfo; the object may fill its caches meanwhile.
using Method = maskctl::MaskInfo (*)(maskctl::MaskInfo&, Args&);
const Table<Method>& methods();
/// Methods that return something else, and so end a chain of calls.
using Getter = Outputs (*)(maskctl::MaskInfo&, Args&);
const Table<Getter>& getters();
using Property = Output (*)(maskctl::MaskInfo&);
const Table<Property>& properties();

/// The entry of a table, or null when there is none.
template <typename F>
F find(const Table<F>& table, const std::string& name) {
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

/// Makes results: an array of rank 0 becomes a number, a missing array None.
Output output_of(maskctl::Tensor tensor);
Output output_of(const maskctl::Array& array);
Output output_of(const maskctl::MaskArray& array);

/// Names the items "out0", "out1", ... in their order.
template <typename... T>
Outputs outputs_of(const T&... items) {
  Outputs out;
  int number = 0;
  (out.emplace("out" + std::to_string(number++), output_of(items)), ...);
  return out;
}
Outputs outputs_of(const maskctl::QkvArrays& arrays);
Outputs outputs_of(const maskctl::QkvMasks& masks);

}  // namespace conformance
