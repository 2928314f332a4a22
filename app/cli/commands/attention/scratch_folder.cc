#include "app/cli/commands/attention/scratch_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <system_error>

#include "maskctl/base/error.h"

namespace maskctl::app {

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "maskctl-XXXXXX").string();
  if (!mkdtemp(name.data())) throw Error(Errc::kIo, fmt::format("cannot make {}", name));
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace maskctl::app
