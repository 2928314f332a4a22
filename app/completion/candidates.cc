#include "app/completion/candidates.h"

#include <filesystem>
#include <set>

#include "maskctl/base/printable.h"

namespace maskctl::app {

namespace fs = std::filesystem;

void Completions::add(const Part& part, std::string_view text, std::string_view help) {
  if (!text.starts_with(part.text)) return;
  // A name that cannot be shown as it is would reach the shell as another one.
  if (printable(text, kUncut) != text) return;
  candidates_.push_back({part.done + std::string(text), std::string(help)});
}

void Completions::add_paths(const Part& part, bool folders_only) {
  if (part.done.empty()) {
    paths_ = folders_only ? Paths::kFolders : Paths::kFiles;
    return;
  }
  const std::string folder = part.text.substr(0, part.text.rfind('/') + 1);
  std::error_code failed;
  std::set<std::string> names;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(folder.empty() ? "." : folder, failed)) {
    const std::string name = entry.path().filename().string();
    const bool is_folder = entry.is_directory(failed);
    const bool hidden = name.starts_with('.') && part.text.size() == folder.size();
    if (!hidden && (is_folder || !folders_only)) names.insert(name + (is_folder ? "/" : ""));
  }
  for (const std::string& name : names) add(part, folder + name);
}

}  // namespace maskctl::app
