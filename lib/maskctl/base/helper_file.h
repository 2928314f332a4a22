// Programs and modules of maskctl's own, which the library starts or loads where they are needed.
#pragma once

#include <optional>
#include <string>

namespace maskctl {

/// Where the build tree or an installation puts them: beside the running program, in
/// ../libexec/maskctl or ../app from there, or in helper_folder(). Nothing if it is nowhere.
std::optional<std::string> find_helper_file(const std::string& name);

/// The folder of an installation.
std::string helper_folder();

}  // namespace maskctl
