// The results of a step, and their comparison with what the manifest expects.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "conformance/suite.h"
#include "maskctl/tensor/tensor.h"

namespace conformance {

/// A result: a scalar, tuple, text or None; or an array of rank 1 or more.
using Output = std::variant<Value, maskctl::Tensor>;

/// Results by the name that the manifest expects: "out0", "text", "attention_mask".
using Outputs = std::map<std::string, Output>;

/// Throws Mismatch, with a short text of both, unless dtype, shape and every bit agree.
void compare(const Suite& suite, const Value& expected, const Output& seen);

/// Throws Mismatch unless `call` throws the error that `raises` describes: any maskctl::Error, or
/// where `origin` is "source" a PythonError of the same type and text.
void compare_error(const Value& raises, const std::function<void()>& call);

}  // namespace conformance
