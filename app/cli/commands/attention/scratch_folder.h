// A temporary folder for the files of commands that users give.
#pragma once

#include <filesystem>
#include <string>

namespace maskctl::app {

/// The destructor removes the folder.
class ScratchFolder {
 public:
  /// Throws Error(kIo).
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace maskctl::app
