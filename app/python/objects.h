// What Python's objects hold (masks, arrays, the fields of answers), and values on their way from
// and to Python.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "app/python/ask.h"
#include "app/python/attended.h"
#include "app/session/loader.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::app {

namespace nb = nanobind;
using Options = std::vector<std::pair<std::string, nb::object>>;

/// The Python value of a JSON value, whose objects are of `type`, a dict. Bytes that are not UTF-8,
/// and numbers that JSON lacks, become what they are in its text: U+FFFD, None.
nb::object value_of(const Json& json, const nb::object& type);

/// The Python object that has the fields of an answer, and makes them anew whenever it is called:
/// what a caller does with them changes no answer.
class Fields {
 public:
  explicit Fields(std::function<Json()> make) : make_(std::move(make)) {}

  nb::object operator()(const nb::object& type);

 private:
  std::function<Json()> make_;
  Json json_;
};

/// The operands and options of a command, whose values are numbers and texts.
Words words_of(std::vector<std::string> operands, const Options& options);

/// The Python object that owns a mask.
struct Source {
  LoadedMask loaded;
};

Source of_mask(Mask mask);

/// The Python object that owns a copy of an array.
struct Copy {
  Tensor tensor;
};

/// What `work` returns, which run_attended() runs.
template <typename Work>
auto attended(const Work& work) {
  std::optional<decltype(work(WantsStop()))> out;
  run_attended([&](const WantsStop& wants_stop) { out.emplace(work(wants_stop)); });
  return *std::move(out);
}

/// What a call is given beside its words: masks, copies and arrays, by name.
GivenSources given_of(const nb::dict& given);

/// A captured run: the name of a file, or (name, masks, why one was not read) of each layer, which
/// answers call `name`.
GivenRun given_run_of(const std::string& name, const nb::handle& object);

/// An array object that supports DLPack and the buffer protocol, and owns the tensor.
nb::object exported(Tensor&& tensor);

/// The arguments from which Python makes an Answer: text, fields, status, notes.
using PythonAnswer = std::tuple<std::string, nb::object, int, std::vector<std::string>>;

PythonAnswer python_answer(Reply&& reply);

}  // namespace maskctl::app
