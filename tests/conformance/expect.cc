#include "conformance/expect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "conformance/mismatch.h"
#include "maskctl/ejkernel/mask_info/python_error.h"
#include "maskctl/mask/arrays/elements.h"
#include "maskctl/tensor/convert.h"

namespace conformance {
namespace {

using maskctl::DType;
using maskctl::Index;
using maskctl::Tensor;

std::string kind_of(const Tensor& tensor) {
  return fmt::format("{}{}", maskctl::name(tensor.dtype()), maskctl::shape_text(tensor.shape()));
}

std::string text_of(const Output& output) {
  const auto* value = std::get_if<Value>(&output);
  return value ? value->text() : kind_of(std::get<Tensor>(output));
}

/// The indices of the n-th element as text: "(0, 2, 3)".
std::string place_of(const Tensor& tensor, Index n) {
  std::vector<Index> place(tensor.shape().size());
  for (std::size_t axis = place.size(); axis-- > 0;) {
    place[axis] = n % tensor.shape()[axis];
    n /= tensor.shape()[axis];
  }
  return maskctl::shape_text(place);
}

void compare_arrays(const Tensor& expected, const Tensor& seen) {
  if (kind_of(expected) != kind_of(seen)) {
    throw Mismatch(fmt::format("expected {}, got {}", kind_of(expected), kind_of(seen)));
  }
  // astype turns every nonzero byte of a bool into 1.
  const Tensor a = astype(expected, expected.dtype()), b = astype(seen, seen.dtype());
  const auto size = static_cast<std::size_t>(size_bytes(a.dtype()));
  Index different = 0, first = -1;
  for (Index i = 0; i < a.elements(); ++i) {
    const std::size_t offset = static_cast<std::size_t>(i) * size;
    if (std::memcmp(&a.bytes()[offset], &b.bytes()[offset], size) == 0) continue;
    if (different++ == 0) first = i;
  }
  if (different == 0) return;
  throw Mismatch(fmt::format("{} of {} elements of {} differ; {} expected {}, got {}", different,
                             a.elements(), kind_of(a), place_of(a, first),
                             maskctl::element_text(a.dtype(), a.bytes(), first),
                             maskctl::element_text(b.dtype(), b.bytes(), first)));
}

/// Throws Mismatch with the first line of each text that differs.
void compare_texts(const std::string& expected, const std::string& seen) {
  const auto at = std::ranges::mismatch(expected, seen).in1 - expected.begin();
  const auto place = static_cast<std::size_t>(at);
  const std::size_t begin = place == 0 ? 0 : expected.rfind('\n', place - 1) + 1;
  const auto line = [&](const std::string& text) {
    return quoted(text.substr(begin, text.find('\n', begin) - begin));
  };
  throw Mismatch(fmt::format("texts differ at byte {}; expected {}, got {}", place, line(expected),
                             line(seen)));
}

void compare_values(const Value& expected, const Value& seen) {
  if (expected == seen) return;
  const auto* left = expected.get_if<std::string>();
  const auto* right = seen.get_if<std::string>();
  if (left && right && left->find('\n') != std::string::npos) compare_texts(*left, *right);
  throw Mismatch(fmt::format("expected {}, got {}", expected.text(), seen.text()));
}

std::string name_of_type(const maskctl::Error& error) {
  const auto* python = dynamic_cast<const maskctl::PythonError*>(&error);
  return python ? std::string(maskctl::name(python->type())) : "maskctl::Error";
}

void compare_raised(const Value& raises, const maskctl::Error& error) {
  const std::string& origin = raises.at("origin").as<std::string>();
  if (origin == "library") return;
  if (origin != "source") throw Mismatch("origin " + quoted(origin) + " is not known");
  const std::string& type = raises.at("type").as<std::string>();
  const std::string& message = raises.at("message").as<std::string>();
  if (type != name_of_type(error) || message != error.what()) {
    throw Mismatch(fmt::format("expected {} {}, got {} {}", type, quoted(message),
                               name_of_type(error), quoted(error.what())));
  }
}

}  // namespace

void compare(const Suite& suite, const Value& expected, const Output& seen) {
  if (const Value* key = expected.find("array")) {
    const Tensor array = suite.array(key->as<std::string>());
    const auto* tensor = std::get_if<Tensor>(&seen);
    if (!tensor) {
      throw Mismatch(fmt::format("expected {}, got {}", kind_of(array), text_of(seen)));
    }
    compare_arrays(array, *tensor);
    return;
  }
  const Value& value = expected.at("value");
  const auto* literal = std::get_if<Value>(&seen);
  if (!literal) throw Mismatch(fmt::format("expected {}, got {}", value.text(), text_of(seen)));
  compare_values(value, *literal);
}

void compare_error(const Value& raises, const std::function<void()>& call) {
  try {
    call();
  } catch (const maskctl::Error& error) {
    compare_raised(raises, error);
    return;
  }
  throw Mismatch("expected " + raises.at("type").text() + ", but nothing was raised");
}

}  // namespace conformance
