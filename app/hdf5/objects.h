// The objects of a file: lists them, and names the existing ones when one is missing.
#pragma once

#include <string>
#include <vector>

#include "app/hdf5/library.h"

namespace maskctl::hdf5 {

struct Object {
  enum class Kind { kGroup, kDataset, kSoftLink, kExternalLink, kOther, kUnreadable };
  std::string path;
  Kind kind;
  std::string reason = {};  // why it is kUnreadable
};

/// Every object once, in the order of names, however many links lead to it; links are not followed.
/// Throws Failure(limit) beyond 10000 objects or 32 levels.
std::vector<Object> all_objects(hid_t file);

/// The paths of the datasets in this group and below.
std::vector<std::string> dataset_names(hid_t file, const std::string& group);

/// From the datasets of a file (`names`), the one meant by the file alone: the only one with two
/// axes or more, or the only one at all. Throws Failure(argument) listing the candidates.
std::string only_dataset(hid_t file, std::vector<std::string> names, const std::string& file_name);

/// Throws Failure saying why the path cannot be opened: no such name (listing the existing
/// datasets), a link to another file, a broken link.
[[noreturn]] void refuse_missing(hid_t file, const std::string& path);
/// Throws Failure for a group, listing the datasets in it.
[[noreturn]] void refuse_group(hid_t file, const std::string& path);

}  // namespace maskctl::hdf5
