#include "maskctl/base/helper_file.h"

#include <filesystem>

namespace maskctl {

std::optional<std::string> find_helper_file(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code unreadable;
  const fs::path beside = fs::read_symlink("/proc/self/exe", unreadable).parent_path();
  for (const fs::path& folder :
       {beside, beside / "../libexec/maskctl", beside / "../app", fs::path(helper_folder())}) {
    const fs::path path = folder / name;
    if (fs::exists(path, unreadable)) return path.string();
  }
  return std::nullopt;
}

std::string helper_folder() { return MASKCTL_LIBEXEC; }

}  // namespace maskctl
