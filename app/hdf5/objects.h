// Lists the objects of a file, and explains why a path cannot be opened.
#pragma once

#include <string>
#include <vector>

#include "app/hdf5/library.h"

namespace maskctl::hdf5 {

struct Object {
  enum class Kind { kGroup, kDataset, kSoftLink, kExternalLink, kOther, kUnreadable };
  std::string path;
  Kind kind;
  std::string reason = {};  // the error, for kUnreadable
};

/// All objects by name. An object with several links is listed once; soft and external links are
/// listed but not followed. Throws Failure(limit) for more than 10000 objects or 32 levels.
std::vector<Object> all_objects(hid_t file);

/// The paths of all datasets in this group and its subgroups.
std::vector<std::string> dataset_names(hid_t file, const std::string& group);

/// The dataset to read when the user names only the file: the only one in `names`, or else the only
/// one with two or more axes. Throws Failure(argument) with the candidates if there are several.
std::string only_dataset(hid_t file, std::vector<std::string> names, const std::string& file_name);

/// Throws Failure with the reason why the path cannot be opened: no such name (lists the existing
/// datasets), a link to another file, or a broken link.
[[noreturn]] void refuse_missing(hid_t file, const std::string& path);
/// Throws Failure because the path is a group; the message lists the datasets in it.
[[noreturn]] void refuse_group(hid_t file, const std::string& path);

}  // namespace maskctl::hdf5
