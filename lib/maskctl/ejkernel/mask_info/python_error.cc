// The Python names of exceptions.
#include "maskctl/ejkernel/mask_info/python_error.h"

namespace maskctl {

std::string_view name(PythonType type) {
  switch (type) {
    case PythonType::kValueError:
      return "ValueError";
    case PythonType::kIndexError:
      return "IndexError";
    case PythonType::kTypeError:
      return "TypeError";
    case PythonType::kNotImplementedError:
      return "NotImplementedError";
    case PythonType::kAssertionError:
      break;
  }
  return "AssertionError";
}

}  // namespace maskctl
