#include "maskctl/io/formats/pretrained.h"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"

namespace maskctl {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "config.json";

/// A hint for messages: what the folder has, and which path would work.
std::string instead(const fs::path& folder) {
  std::error_code ignored;
  if (fs::exists(folder / "model.safetensors.index.json", ignored)) {
    return "its weights are in several files: give one of them";
  }
  if (fs::exists(folder / kConfig, ignored)) {
    return "it has a config.json, which describes the masks of layers and no array";
  }
  return "give a file, or a folder that save_pretrained wrote";
}

}  // namespace

std::string in_pretrained(const std::string& path, const std::string& file) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path;
  const fs::path inner = fs::path(path) / file;
  if (fs::exists(inner, ignored)) return inner.string();
  throw Error(Errc::kInvalidArgument,
              fmt::format("{}: a folder without {}; {}", printable(path), file, instead(path)));
}

}  // namespace maskctl
