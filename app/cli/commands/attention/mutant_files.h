// Files of mutants: one .npz for each, as `verify` reads them, and a manifest of their truths.
#pragma once

#include <string>

#include "app/reports/json_value.h"
#include "maskctl/verify/mutants/mutants.h"

namespace maskctl::app {

/// Writes query, key, value, bias, softmax_aux, out and lse of a mutant to an .npz.
void write_mutant(const std::string& path, const attention::Mutant& mutant);

/// A folder of mutants. The manifest, mutants.json, is written last.
class MutantFolder {
 public:
  /// Makes the folder. Throws Error(kIo) if it cannot be made, or is not empty.
  explicit MutantFolder(const std::string& path);

  /// Writes the next mutant; `truth` is what the manifest says of it. Returns the path of the file.
  std::string add(const attention::Mutant& mutant, Json truth);
  void write_manifest(Json about);

 private:
  std::string path_;
  Json mutants_ = Json::array();
  Index next_ = 0;
};

}  // namespace maskctl::app
