#include "app/hdf5/objects.h"

#include <algorithm>
#include <set>

namespace maskctl::hdf5 {
namespace {

using namespace hdf5_protocol;

constexpr std::size_t kMaxObjects = 10000;
constexpr std::size_t kMaxDepth = 32;

struct Link {
  std::string name;
  H5L_type_t type;
};

/// Adds a link to `data`. At the limit it returns 1, which stops the iteration; it must not throw,
/// because its caller is C code.
herr_t take_link(hid_t, const char* name, const H5L_info_t* info, void* data) {
  auto& links = *static_cast<std::vector<Link>*>(data);
  links.push_back({name, info->type});
  return links.size() > kMaxObjects ? 1 : 0;
}

class Walk {
 public:
  explicit Walk(hid_t file) : file_(file) {
    H5O_info_t root{};
    check(H5Oget_info_by_name(file, "/", &root, H5P_DEFAULT), "read the root group");
    seen_.insert(root.addr);
  }

  void group(const std::string& path, std::size_t depth) {
    if (depth > kMaxDepth) {
      throw Failure{kLimit, "groups nested more than " + std::to_string(kMaxDepth) + " deep"};
    }
    std::vector<Link> links;
    const Handle id = checked(H5Gopen2(file_, path.c_str(), H5P_DEFAULT), "open the group " + path);
    check(H5Literate(id.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, take_link, &links),
          "list the group " + path);
    // Visits all objects of this group before those of its subgroups, so that an object with
    // several links is listed under its shortest path.
    std::vector<std::string> groups;
    for (const Link& link : links) {
      const std::string name = (path == "/" ? "" : path) + "/" + link.name;
      if (visit(name, link.type)) groups.push_back(name);
    }
    for (const std::string& name : groups) group(name, depth + 1);
  }

  std::vector<Object> take() { return std::move(found_); }

 private:
  bool add(const std::string& path, Object::Kind kind, std::string reason = {}) {
    if (found_.size() >= kMaxObjects) {
      throw Failure{kLimit, "more than " + std::to_string(kMaxObjects) + " objects"};
    }
    found_.push_back({path, kind, std::move(reason)});
    return false;
  }

  /// Lists an object. True if it is a group that has not been visited, so that its members follow.
  bool visit(const std::string& path, H5L_type_t type) {
    if (type == H5L_TYPE_SOFT) return add(path, Object::Kind::kSoftLink);
    if (type == H5L_TYPE_EXTERNAL) return add(path, Object::Kind::kExternalLink);
    if (type != H5L_TYPE_HARD) return add(path, Object::Kind::kOther);
    H5O_info_t info{};
    if (H5Oget_info_by_name(file_, path.c_str(), &info, H5P_DEFAULT) < 0) {
      // Go on: other objects may be intact.
      return add(path, Object::Kind::kUnreadable, last_error());
    }
    if (!seen_.insert(info.addr).second) return false;
    if (info.type == H5O_TYPE_DATASET) return add(path, Object::Kind::kDataset);
    if (info.type != H5O_TYPE_GROUP) return add(path, Object::Kind::kOther);
    add(path, Object::Kind::kGroup);
    return true;
  }

  hid_t file_;
  std::set<haddr_t> seen_;
  std::vector<Object> found_;
};

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 20;
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    out += (i == 0 ? "" : ", ") + names[i];
  }
  return names.size() > kShown ? out + ", ..." : out;
}

constexpr int kUnknownRank =
    2;  // number of axes assumed for a dataset that cannot be opened, so that it stays a candidate

/// The number of axes; -1 for a virtual dataset, whose shape would have to be read from other
/// files.
int rank_of(hid_t file, const std::string& path) {
  const Handle id(H5Dopen2(file, path.c_str(), H5P_DEFAULT));
  if (!id.valid()) return kUnknownRank;
  const Handle plist = checked(H5Dget_create_plist(id.get()), "read the layout of " + path);
  if (H5Pget_layout(plist.get()) == H5D_VIRTUAL) return -1;
  const Handle space = checked(H5Dget_space(id.get()), "read the shape of " + path);
  return H5Sget_simple_extent_ndims(space.get());
}

std::string known_datasets(const std::vector<std::string>& names) {
  if (names.empty()) return "there are no datasets";
  return (names.size() == 1 ? "the only dataset is " : "the datasets are ") + list_of(names);
}

/// Throws if the path is a link to another file or a broken soft link. Returns if the path is
/// missing or can be followed.
void check_link(hid_t file, const std::string& path) {
  if (H5Lexists(file, path.c_str(), H5P_DEFAULT) <= 0) return;
  H5L_info_t info{};
  check(H5Lget_info(file, path.c_str(), &info, H5P_DEFAULT), "read the link " + path);
  if (info.type == H5L_TYPE_EXTERNAL) {
    throw Failure{kUnsupported, path +
                                    " is a link to another file, which is never opened; name "
                                    "that file itself"};
  }
  const bool leads_on = H5Oexists_by_name(file, path.c_str(), H5P_DEFAULT) > 0;
  if (info.type == H5L_TYPE_SOFT && !leads_on) {
    throw Failure{kFormat, path + " is a soft link that leads to nothing here: " + last_error()};
  }
}

}  // namespace

std::vector<Object> all_objects(hid_t file) {
  Walk walk(file);
  walk.group("/", 0);
  return walk.take();
}

std::vector<std::string> dataset_names(hid_t file, const std::string& group) {
  const std::string prefix = group == "/" ? group : group + "/";
  std::vector<std::string> out;
  for (const Object& object : all_objects(file)) {
    const bool may_be =
        object.kind == Object::Kind::kDataset || object.kind == Object::Kind::kUnreadable;
    if (may_be && object.path.starts_with(prefix)) out.push_back(object.path);
  }
  return out;
}

std::string only_dataset(hid_t file, std::vector<std::string> names, const std::string& file_name) {
  if (names.size() == 1) return names[0];
  std::vector<std::string> matrices;
  for (const std::string& name : names) {
    if (rank_of(file, name) >= 2) matrices.push_back(name);
  }
  if (matrices.size() == 1) return matrices[0];
  if (names.empty()) throw Failure{kFormat, "no datasets in this file"};
  if (!matrices.empty()) names = matrices;
  throw Failure{kArgument, std::to_string(names.size()) + " datasets (" + list_of(names) +
                               "); choose one: " + file_name + ":" + names[0]};
}

void refuse_missing(hid_t file, const std::string& path) {
  const std::string reason = last_error();
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (part.size() > 1) check_link(file, part);
    if (slash == std::string::npos) break;
  }
  const std::vector<std::string> names = dataset_names(file, "/");
  // `names` has only one path for an object with several links, so it is not searched here.
  const bool linked = H5Lexists(file, path.c_str(), H5P_DEFAULT) > 0;
  if (linked) {
    throw Failure{kFormat, "cannot open it: " + reason};
  }
  throw Failure{kArgument, "no dataset of this name; " + known_datasets(names)};
}

void refuse_group(hid_t file, const std::string& path) {
  std::vector<std::string> names = dataset_names(file, path);
  if (names.empty()) names = dataset_names(file, "/");
  throw Failure{kArgument, "not a dataset but a group; " + known_datasets(names)};
}

}  // namespace maskctl::hdf5
