#include "app/hdf5/taken.h"

#include <algorithm>

namespace maskctl::hdf5 {
namespace {

H5I_type_t type_at(hid_t file, const std::string& path) {
  const Handle object(H5Oopen(file, path.c_str(), H5P_DEFAULT));
  return object.valid() ? H5Iget_type(object.get()) : H5I_BADID;
}

/// True for a group that nothing else in the file refers to by name.
bool is_own_group(hid_t file, const std::string& path) {
  H5L_info_t link{};
  H5O_info_t info{};
  const Handle object(H5Oopen(file, path.c_str(), H5P_DEFAULT));
  return object.valid() && H5Iget_type(object.get()) == H5I_GROUP &&
         H5Lget_info(file, path.c_str(), &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_HARD &&
         H5Oget_info(object.get(), &info) >= 0 && info.rc == 1;
}

std::vector<std::string> names_in(hid_t file, const std::string& group) {
  std::vector<std::string> out;
  const auto add = [](hid_t, const char* name, const H5L_info_t*, void* to) -> herr_t {
    static_cast<std::vector<std::string>*>(to)->emplace_back(name);
    return 0;
  };
  hsize_t at = 0;
  check(H5Literate_by_name(file, group.c_str(), H5_INDEX_NAME, H5_ITER_INC, &at, add, &out,
                           H5P_DEFAULT),
        "list " + group);
  return out;
}

void remove_link(hid_t file, const std::string& path) {
  check(H5Ldelete(file, path.c_str(), H5P_DEFAULT), "replace " + path);
}

}  // namespace

bool has_link(hid_t file, const std::string& path) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (part.size() > 1 && H5Lexists(file, part.c_str(), H5P_DEFAULT) <= 0) return false;
    if (slash == std::string::npos) return true;
  }
}

std::string plain_path(const std::string& path) {
  std::string out;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string part = path.substr(at, end - at);
    if (!part.empty() && part != ".") out += "/" + part;
    at = end + 1;
  }
  return out;
}

void TakenPaths::take(const std::string& path, bool replace) {
  const std::string plain = plain_path(path);
  if (plain.empty()) return;
  if (!replace && has_link(file_, plain)) {
    const char* what = type_at(file_, plain) == H5I_GROUP ? "a group" : "an array";
    throw Failure{hdf5_protocol::kExists,
                  std::string("already holds ") + what + " '" + plain + "'"};
  }
  taken_.push_back(plain);
}

void TakenPaths::clear_way(const std::string& path) {
  const std::string plain = plain_path(path);
  for (std::size_t slash = plain.find('/', 1); slash != std::string::npos;
       slash = plain.find('/', slash + 1)) {
    const std::string part = plain.substr(0, slash);
    if (!has_link(file_, part)) break;
    if (is_taken(part) && !is_written(part)) {
      if (!is_own_group(file_, part)) remove_link(file_, part);
    } else if (type_at(file_, part) == H5I_DATASET) {
      throw Failure{hdf5_protocol::kIo, "holds an array '" + part +
                                            "', so there is no group for '" + plain +
                                            "'; choose another name"};
    }
  }
  written_.push_back(plain);
}

void TakenPaths::drop_rest() {
  for (const std::string& path : taken_) {
    if (leads_to_written(path)) drop_rest_of(path);
  }
}

bool TakenPaths::is_taken(const std::string& path) const {
  return std::ranges::any_of(taken_, [&](const std::string& taken) {
    return path == taken || path.starts_with(taken + "/");
  });
}

bool TakenPaths::is_written(const std::string& path) const {
  return std::ranges::find(written_, path) != written_.end();
}

bool TakenPaths::leads_to_written(const std::string& path) const {
  return std::ranges::any_of(
      written_, [&](const std::string& written) { return written.starts_with(path + "/"); });
}

void TakenPaths::drop_rest_of(const std::string& path) {
  for (const std::string& name : names_in(file_, path)) {
    const std::string child = path + "/" + name;
    if (is_written(child)) continue;
    if (leads_to_written(child)) {
      drop_rest_of(child);
    } else {
      remove_link(file_, child);
    }
  }
}

}  // namespace maskctl::hdf5
