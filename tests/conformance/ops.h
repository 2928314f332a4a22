// What the manifests can name: functions, and constructors, methods and properties of MaskInfo.
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
const Table<Function>& sequence_utils();  // and random numbers, and specs of shardings
const Table<Function>& lazy_masks();

using Constructor = maskctl::MaskInfo (*)(Args&);
const Table<Constructor>& constructors();
/// Methods that give a MaskInfo; the object itself may fill its caches.
using Method = maskctl::MaskInfo (*)(maskctl::MaskInfo&, Args&);
const Table<Method>& methods();
/// Methods that give something else: the last of a chain.
using Getter = Outputs (*)(maskctl::MaskInfo&, Args&);
const Table<Getter>& getters();
using Property = Output (*)(maskctl::MaskInfo&);
const Table<Property>& properties();

/// The entry of a table, null when absent.
template <typename F>
F find(const Table<F>& table, const std::string& name) {
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

/// Arrays of rank 0 are literals, a missing array is None.
Output output_of(maskctl::Tensor tensor);
Output output_of(const maskctl::Array& array);
Output output_of(const maskctl::MaskArray& array);

/// "out0", "out1", ... in order.
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
