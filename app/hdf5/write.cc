// The verbs "create" and "append": write arrays and attributes from standard input into a file.
#include <algorithm>
#include <optional>
#include <utility>

#include "app/hdf5/attribute.h"
#include "app/hdf5/element.h"
#include "app/hdf5/memory_file.h"
#include "app/hdf5/slabs.h"
#include "app/hdf5/streams.h"
#include "app/hdf5/taken.h"
#include "app/hdf5/verbs.h"
#include "maskctl/base/text.h"
#include "maskctl/io/formats/hdf5/hdf5_protocol.h"

namespace maskctl::hdf5 {
namespace {

using namespace hdf5_protocol;

constexpr hsize_t kChunkBytes = hsize_t{256} << 10U;

hsize_t number(std::string_view text) {
  if (const auto value = number_from<hsize_t>(text)) return *value;
  throw Failure{kArgument, "'" + std::string(text) + "' is not a number"};
}

Extents extents_from(std::string_view text) {
  Extents out;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    out.push_back(number(text.substr(0, comma)));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return out;
}

/// Chunks of about 256 KiB in C order: whole rows along the last axes, as many as fit. A longer row
/// is split.
Extents chunk_for(const Extents& extents, hsize_t element_bytes) {
  Extents chunk(extents.size(), 1);
  hsize_t left = std::max<hsize_t>(1, kChunkBytes / element_bytes);
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    chunk[axis] = std::clamp<hsize_t>(extents[axis], 1, left);
    left = std::max<hsize_t>(1, left / chunk[axis]);
  }
  return chunk;
}

class Writer {
 public:
  Writer(hid_t file, bool replace) : file_(file), replace_(replace), taken_(file) {
    links_ = checked(H5Pcreate(H5P_LINK_CREATE), "set up writing");
    H5Pset_create_intermediate_group(links_.get(), 1);
    H5Pset_char_encoding(links_.get(), H5T_CSET_UTF8);
  }

  void take(const std::string& path) { taken_.take(path, replace_); }

  void array(const std::vector<std::string>& fields, Input& input, Index seconds) {
    const Handle type = type_of(fields[2]);
    const Extents extents = extents_from(fields[3]);
    const hsize_t element_bytes = H5Tget_size(type.get());
    const hsize_t gzip = number(fields[4]);
    const bool empty = std::ranges::find(extents, 0) != extents.end();
    const Extents chunk =
        gzip > 0 && !extents.empty() && !empty ? chunk_for(extents, element_bytes) : Extents{};
    taken_.clear_way(fields[1]);
    Handle dataset = same_dataset(fields[1], type.get(), extents, gzip);
    if (!dataset.valid()) {
      const std::vector<Attribute> attributes = make_room(fields[1]);
      dataset = create(fields[1], type.get(), extents, chunk, gzip);
      for (const Attribute& attribute : attributes) attribute.write(dataset.get());
    }
    copy(dataset.get(), type.get(), extents, plan_slabs(extents, chunk, element_bytes), input,
         seconds);
  }

  void attribute(const std::string& object_path, const std::string& name,
                 const std::string& value) {
    const Handle object = open_or_make_group(object_path);
    if (H5Aexists(object.get(), name.c_str()) > 0) {
      check(H5Adelete(object.get(), name.c_str()), "replace the attribute " + name);
    }
    const Handle type = checked(H5Tcopy(H5T_C_S1), "make a type");
    H5Tset_size(type.get(), H5T_VARIABLE);
    H5Tset_cset(type.get(), H5T_CSET_UTF8);
    const Handle space = checked(H5Screate(H5S_SCALAR), "make a dataspace");
    const Handle id = checked(
        H5Acreate2(object.get(), name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
        "make the attribute " + name);
    const char* text = value.c_str();
    check(H5Awrite(id.get(), type.get(), &text), "write the attribute " + name);
  }

  /// Ends the file.
  void end() {
    taken_.drop_rest();
    check(H5Fflush(file_, H5F_SCOPE_GLOBAL), "write the file");
  }

 private:
  /// The dataset of this path if new elements can take the place of the old ones: then attributes,
  /// filters, and references to it from other objects stay as they are. Not valid if it is another
  /// type or shape, if it has a second name, which must keep the old elements, or if its elements
  /// are in another file.
  Handle same_dataset(const std::string& path, hid_t type, const Extents& extents, hsize_t gzip) {
    if (!replace_ || gzip > 0 || !has_link(file_, path)) return Handle();
    Handle old(H5Oopen(file_, path.c_str(), H5P_DEFAULT));
    H5O_info_t info{};
    H5L_info_t link{};
    if (!old.valid() || H5Iget_type(old.get()) != H5I_DATASET ||
        H5Oget_info(old.get(), &info) < 0 || info.rc != 1 ||
        H5Lget_info(file_, path.c_str(), &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD) {
      return Handle();
    }
    const Handle old_type(H5Dget_type(old.get()));
    const Handle space(H5Dget_space(old.get()));
    if (H5Tequal(old_type.get(), type) <= 0 || extents_of(space.get()) != extents) return Handle();
    return has_own_elements(old.get()) ? std::move(old) : Handle();
  }

  static std::optional<Extents> extents_of(hid_t space) {
    const int rank = H5Sget_simple_extent_ndims(space);
    if (H5Sget_simple_extent_type(space) == H5S_NULL || rank < 0) return std::nullopt;
    Extents out(static_cast<std::size_t>(rank));
    H5Sget_simple_extent_dims(space, out.data(), nullptr);
    return out;
  }

  /// True if the elements are in this file, behind filters that can be written.
  static bool has_own_elements(hid_t dataset) {
    const Handle plist(H5Dget_create_plist(dataset));
    if (H5Pget_layout(plist.get()) == H5D_VIRTUAL || H5Pget_external_count(plist.get()) != 0) {
      return false;
    }
    for (int i = 0; i < H5Pget_nfilters(plist.get()); ++i) {
      unsigned flags = 0, config = 0;
      std::size_t values = 0;
      const H5Z_filter_t filter = H5Pget_filter2(plist.get(), static_cast<unsigned>(i), &flags,
                                                 &values, nullptr, 0, nullptr, &config);
      if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE &&
          filter != H5Z_FILTER_FLETCHER32) {
        return false;
      }
    }
    return true;
  }

  /// Removes the dataset or group of this path, if there is one, and returns the attributes of a
  /// dataset.
  std::vector<Attribute> make_room(const std::string& path) {
    if (!has_link(file_, path)) return {};
    if (!replace_) throw Failure{kExists, "already holds an array '" + path + "'"};
    Handle old(H5Oopen(file_, path.c_str(), H5P_DEFAULT));
    const H5I_type_t type = old.valid() ? H5Iget_type(old.get()) : H5I_BADID;
    if (old.valid() && type != H5I_DATASET && type != H5I_GROUP) {
      throw Failure{kIo, path + " exists in it and is neither a dataset nor a group"};
    }
    std::vector<Attribute> attributes;
    if (type == H5I_DATASET) attributes = attributes_of(old.get());
    // Dimension scales are tied to the axes and the address of the old dataset. libhdf5_hl and h5py
    // crash on lists of them that another dataset has.
    std::erase_if(attributes, [](const Attribute& attribute) {
      return attribute.name == "DIMENSION_LIST" || attribute.name == "REFERENCE_LIST";
    });
    old = Handle();  // so that the room of its elements is used again
    check(H5Ldelete(file_, path.c_str(), H5P_DEFAULT), "replace " + path);
    return attributes;
  }

  Handle open_or_make_group(const std::string& path) {
    if (path == "/" || has_link(file_, path)) {
      return checked(H5Oopen(file_, path.c_str(), H5P_DEFAULT), "open " + path);
    }
    return checked(H5Gcreate2(file_, path.c_str(), links_.get(), H5P_DEFAULT, H5P_DEFAULT),
                   "make the group " + path);
  }

  Handle create(const std::string& path, hid_t type, const Extents& extents, const Extents& chunk,
                hsize_t gzip) {
    const Handle space =
        checked(extents.empty()
                    ? H5Screate(H5S_SCALAR)
                    : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
                "make the dataspace of " + path);
    const Handle plist = checked(H5Pcreate(H5P_DATASET_CREATE), "set up writing");
    // Without timestamps, equal arrays give equal bytes.
    H5Pset_obj_track_times(plist.get(), false);
    if (!chunk.empty()) {
      H5Pset_chunk(plist.get(), static_cast<int>(chunk.size()), chunk.data());
      H5Pset_deflate(plist.get(), static_cast<unsigned>(std::min<hsize_t>(gzip, 9)));
    }
    return checked(
        H5Dcreate2(file_, path.c_str(), type, space.get(), links_.get(), plist.get(), H5P_DEFAULT),
        "make the dataset " + path);
  }

  static void copy(hid_t dataset, hid_t type, const Extents& extents, const SlabPlan& plan,
                   Input& input, Index seconds) {
    const Handle file_space = checked(H5Dget_space(dataset), "select a box");
    std::vector<char> buffer(plan.bytes);
    each_slab(extents, plan, [&](const Extents& start, const Extents& counts) {
      hsize_t bytes = H5Tget_size(type);
      for (const hsize_t count : counts) bytes *= count;
      input.read(std::span(buffer).first(bytes));
      if (counts.empty()) {
        check(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer.data()),
              "write the data");
        return;
      }
      const Handle box = checked(
          H5Screate_simple(static_cast<int>(counts.size()), counts.data(), nullptr), "make a box");
      check(H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, start.data(), nullptr,
                                counts.data(), nullptr),
            "select a box");
      check(H5Dwrite(dataset, type, box.get(), file_space.get(), H5P_DEFAULT, buffer.data()),
            "write the data");
      renew_time_limit(seconds);
    });
  }

  hid_t file_;
  bool replace_;
  TakenPaths taken_;
  Handle links_;
};

}  // namespace

void write_datasets(const Request& request, Access access) {
  Handle file = open_file(request.file, access);
  Writer writer(file.get(), request.replace);
  Input input;
  while (true) {
    const std::vector<std::string> line = fields(input.line());
    if (line[0] == "array" && line.size() == 5) {
      writer.array(line, input, request.seconds);
    } else if (line[0] == "take" && line.size() == 2) {
      writer.take(line[1]);
    } else if (line[0] == "attribute" && line.size() == 4) {
      writer.attribute(line[1], line[2], line[3]);
    } else if (line[0] == "end") {
      break;
    } else {
      throw Failure{kArgument, "unknown request '" + line[0] + "'"};
    }
  }
  writer.end();
  if (request.file == kStandardOutput) write_memory_file(file.get());
  file = Handle();
}

}  // namespace maskctl::hdf5
