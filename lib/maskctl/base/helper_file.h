// Programs and modules of maskctl's own, which the library starts or loads where they are needed.
#pragma once

#include <optional>
#include <string>

namespace maskctl {

/// The path of a helper: beside the running program, in ../libexec/maskctl or ../app from there, or
/// in helper_folder(). Nothing if it is in none of them.
std::optional<std::string> find_helper_file(const std::string& name);

/// The folder in which an installation keeps its helpers.
std::string helper_folder();

}  // namespace maskctl
