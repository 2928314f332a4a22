#include "app/hdf5/dataset.h"

#include <algorithm>
#include <array>

#include "app/hdf5/element.h"
#include "app/hdf5/lzf.h"
#include "app/hdf5/objects.h"
#include "maskctl/base/checked.h"

namespace maskctl::hdf5 {
namespace {

using namespace hdf5_protocol;

constexpr int kMaxRank = 8;
constexpr Index kMaxChunkBytes = Index{256} << 20;

/// The size of a dataset in bytes; nothing if it does not fit an Index.
std::optional<Index> total_bytes(const Extents& extents, hsize_t element_bytes) {
  std::vector<Index> factors;
  for (const hsize_t extent : extents) {
    if (extent > hsize_t{INT64_MAX}) return std::nullopt;
    factors.push_back(static_cast<Index>(extent));
  }
  const auto elements = checked_product(factors);
  return elements ? checked_mul(*elements, static_cast<Index>(element_bytes)) : std::nullopt;
}

std::string comma_list(const Extents& extents) {
  std::string out;
  for (const hsize_t extent : extents) out += (out.empty() ? "" : ",") + std::to_string(extent);
  return out;
}

Extents extents_of(hid_t space) {
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0) fail("read the shape");
  Extents extents(static_cast<std::size_t>(rank));
  if (rank > 0 && H5Sget_simple_extent_dims(space, extents.data(), nullptr) < 0) {
    fail("read the shape");
  }
  return extents;
}

Extents chunk_of(hid_t plist) {
  std::array<hsize_t, H5S_MAX_RANK> chunk{};
  const int rank = H5Pget_chunk(plist, H5S_MAX_RANK, chunk.data());
  if (rank < 0) fail("read the chunk shape");
  return {chunk.begin(), chunk.begin() + rank};
}

struct Filter {
  H5Z_filter_t id;
  std::string name;
  unsigned level = 0;  // first parameter of the filter, for gzip the compression level
};

std::vector<Filter> all_filters(hid_t plist) {
  std::vector<Filter> out;
  const int count = H5Pget_nfilters(plist);
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0;
    unsigned config = 0;
    std::array<unsigned, 8> values{};
    std::size_t value_count = values.size();
    std::array<char, 64> name{};
    const H5Z_filter_t id = H5Pget_filter2(plist, static_cast<unsigned>(i), &flags, &value_count,
                                           values.data(), name.size() - 1, name.data(), &config);
    if (id < 0) fail("read the filters");
    out.push_back({id, name.data(), value_count > 0 ? values[0] : 0});
  }
  return out;
}

std::string name_of(const Filter& filter) {
  switch (filter.id) {
    case H5Z_FILTER_DEFLATE:
      return "gzip " + std::to_string(filter.level);
    case H5Z_FILTER_SHUFFLE:
      return "shuffle";
    case H5Z_FILTER_FLETCHER32:
      return "fletcher32";
    case H5Z_FILTER_SZIP:
      return "szip";
    case H5Z_FILTER_NBIT:
      return "nbit";
    case H5Z_FILTER_SCALEOFFSET:
      return "scaleoffset";
    case kLzfId:
      return "lzf";
    default:
      return (filter.name.empty() ? "filter" : filter.name) + " " + std::to_string(filter.id);
  }
}

void check_filters(hid_t plist) {
  for (const Filter& filter : all_filters(plist)) {
    if (H5Zfilter_avail(filter.id) > 0) continue;
    throw Failure{kUnsupported,
                  "compressed by '" + name_of(filter) +
                      "', which is not built in (gzip, lzf, szip, shuffle, "
                      "fletcher32 are; plugins are not loaded); rewrite it with gzip"};
  }
}

void check_storage(hid_t plist) {
  const H5D_layout_t layout = H5Pget_layout(plist);
  if (layout == H5D_VIRTUAL) {
    throw Failure{kUnsupported,
                  "a virtual dataset, whose data is in other datasets or files; "
                  "copy it into a plain one first"};
  }
  if (H5Pget_external_count(plist) > 0) {
    throw Failure{kUnsupported,
                  "its data is in another file (external storage), which is never "
                  "opened; copy it into a plain dataset first"};
  }
  if (layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED && layout != H5D_COMPACT) {
    fail("read the layout");
  }
}

void check_chunk(const Extents& chunk, hsize_t element_bytes, Index max_bytes) {
  const auto bytes = total_bytes(chunk, element_bytes);
  const Index limit = std::min(kMaxChunkBytes, max_bytes);
  if (bytes && *bytes <= limit) return;
  throw Failure{kLimit, "chunks of (" + comma_list(chunk) + ") elements take " +
                            (bytes ? std::to_string(*bytes) : "too many") +
                            " bytes each; the limit is " + std::to_string(limit)};
}

void read_shape(Dataset& out, hid_t plist, Index max_bytes) {
  const Handle space = checked(H5Dget_space(out.id.get()), "read the shape");
  if (H5Sget_simple_extent_type(space.get()) == H5S_NULL) {
    throw Failure{kFormat, "an empty dataset (null dataspace); expected an array"};
  }
  out.extents = extents_of(space.get());
  if (out.extents.size() > kMaxRank) {
    throw Failure{kUnsupported, std::to_string(out.extents.size()) + " axes; at most 8 are read"};
  }
  if (!total_bytes(out.extents, out.element_bytes)) {
    throw Failure{kFormat, "the shape (" + comma_list(out.extents) + ") is too large"};
  }
  if (H5Pget_layout(plist) != H5D_CHUNKED) return;
  out.chunk = chunk_of(plist);
  if (out.chunk.size() != out.extents.size()) {
    throw Failure{kFormat, "chunks with another rank than the array"};
  }
  check_chunk(out.chunk, out.element_bytes, max_bytes);
}

}  // namespace

Dataset open_dataset(hid_t file, const std::string& path, Index max_bytes) {
  Dataset out;
  out.path = path;
  const Handle object(H5Oopen(file, path.c_str(), H5P_DEFAULT));
  if (!object.valid()) refuse_missing(file, path);
  if (H5Iget_type(object.get()) != H5I_DATASET) refuse_group(file, path);
  // The data is read in boxes (slabs.h). The chunk cache costs a copy of each chunk, but then a
  // chunk that is in several boxes is decompressed only once.
  const Handle access = checked(H5Pcreate(H5P_DATASET_ACCESS), "set up reading");
  H5Pset_chunk_cache(access.get(), 521, std::size_t{16} << 20U, 1.0);
  out.id = checked(H5Dopen2(file, path.c_str(), access.get()), "open the dataset");
  const Handle plist = checked(H5Dget_create_plist(out.id.get()), "read the layout");
  check_storage(plist.get());
  check_filters(plist.get());
  out.type = checked(H5Dget_type(out.id.get()), "read the element type");
  const auto descr = descr_of(out.type.get());
  if (!descr) {
    throw Failure{kUnsupported, "elements of type " + class_of(out.type.get()) +
                                    "; expected bool, an integer or a float of 2, 4 or 8 bytes"};
  }
  out.descr = *descr;
  out.element_bytes = H5Tget_size(out.type.get());
  read_shape(out, plist.get(), max_bytes);
  return out;
}

std::string shape_field(const Extents& extents) { return comma_list(extents); }

std::string shape_field(hid_t space) {
  if (H5Sget_simple_extent_type(space) == H5S_NULL) return "null";
  return comma_list(extents_of(space));
}

std::string storage_of(hid_t plist) {
  switch (H5Pget_layout(plist)) {
    case H5D_COMPACT:
      return "compact";
    case H5D_CONTIGUOUS:
      return H5Pget_external_count(plist) > 0 ? "external" : "contiguous";
    case H5D_CHUNKED:
      return "chunked " + comma_list(chunk_of(plist));
    case H5D_VIRTUAL:
      return "virtual";
    default:
      return "unknown";
  }
}

std::vector<std::string> filters_of(hid_t plist) {
  std::vector<std::string> out;
  for (const Filter& filter : all_filters(plist)) out.push_back(name_of(filter));
  return out;
}

}  // namespace maskctl::hdf5
