// maskctl's helper programs and modules, which the library starts or loads on demand.
#pragma once

#include <optional>
#include <string>

namespace maskctl {

/// The path of a helper, or nothing if it is not found. Looks in the folder of the running program,
/// in ../libexec/maskctl and ../app from there, and in helper_folder(), in this order.
std::optional<std::string> find_helper_file(const std::string& name);

/// The folder in which an installation keeps its helpers.
std::string helper_folder();

}  // namespace maskctl
