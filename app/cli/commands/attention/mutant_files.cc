#include "app/cli/commands/attention/mutant_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "maskctl/base/atomic_file.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/io/array_io.h"

namespace maskctl::app {

void write_mutant(const std::string& path, const attention::Mutant& mutant) {
  std::vector<ArrayRef> arrays = {
      {"query", &mutant.query}, {"key", &mutant.key}, {"value", &mutant.value}};
  if (mutant.bias) arrays.push_back({"bias", &*mutant.bias});
  if (mutant.sinks) arrays.push_back({"softmax_aux", &*mutant.sinks});
  arrays.push_back({"out", &mutant.out});
  arrays.push_back({"lse", &mutant.lse});
  write_arrays(path, arrays, {.force = true});
}

MutantFolder::MutantFolder(const std::string& path) : path_(path) {
  std::error_code failed;
  std::filesystem::create_directories(path_, failed);
  const bool empty = !failed && std::filesystem::is_empty(path_, failed);
  if (failed) {
    throw Error(Errc::kIo, fmt::format("{}: {}; expected a folder for the mutants",
                                       printable(path_), failed.message()));
  }
  if (!empty) {
    throw Error(Errc::kIo, fmt::format("{} is not empty; expected a new folder for the mutants",
                                       printable(path_)));
  }
}

std::string MutantFolder::add(const attention::Mutant& mutant, Json truth) {
  const std::string file = fmt::format("mutant_{:06}.npz", next_++);
  const std::string path = (std::filesystem::path(path_) / file).string();
  write_mutant(path, mutant);
  truth["file"] = file;
  mutants_.push_back(std::move(truth));
  return path;
}

void MutantFolder::write_manifest(Json about) {
  about["mutants"] = std::exchange(mutants_, Json::array());
  AtomicFile file((std::filesystem::path(path_) / "mutants.json").string(), false);
  const std::string text = text_of(about);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

}  // namespace maskctl::app
