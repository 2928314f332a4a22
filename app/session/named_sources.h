// Expands a SOURCE that names several files or arrays: a folder, a pattern of files, or a pattern
// of the arrays of a container.
#pragma once

#include <string>
#include <vector>

#include "app/session/session.h"

namespace maskctl::app {

/// The files and arrays that one SOURCE of a command line names.
struct NamedSources {
  enum class By { kName, kFolder, kFiles, kArrays } by = By::kName;
  std::vector<std::string> sources;  // sorted by name, unless `by` is kName: the SOURCE itself
};

/// - a folder: the files of arrays in it and in those below it; others are left out with a note;
/// - "masks/*.npy", "run/*.npz:mask": the files that match, as glob(3) reads *, ? and [...];
/// - "m.npz:*", "m.h5:/layers/*": the arrays that match. A * stands for slashes too.
/// A SOURCE that is given or exists is no pattern. Throws Error(kIo) if nothing matches, and
/// Error(kLimit) for more than 100,000 files or arrays.
NamedSources named_sources(const std::string& source, Session& session);

/// All SOURCEs that these folders, patterns and names stand for.
std::vector<std::string> all_named(const std::vector<std::string>& sources, Session& session);

/// True if the SOURCE is a folder or a pattern.
bool names_several(const std::string& source, const Session& session);

}  // namespace maskctl::app
