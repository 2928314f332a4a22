// The verb "read": prints the data of one dataset, box by box.
#include "app/hdf5/dataset.h"
#include "app/hdf5/objects.h"
#include "app/hdf5/streams.h"
#include "app/hdf5/verbs.h"

namespace maskctl::hdf5 {
namespace {

using hdf5_protocol::line;

void put_elements(const Dataset& dataset, Index seconds) {
  const SlabPlan plan = plan_slabs(dataset.extents, dataset.chunk, dataset.element_bytes);
  std::vector<char> buffer(plan.bytes);
  const Handle file_space = checked(H5Dget_space(dataset.id.get()), "read the shape");
  each_slab(dataset.extents, plan, [&](const Extents& start, const Extents& counts) {
    hsize_t bytes = dataset.element_bytes;
    for (const hsize_t count : counts) bytes *= count;
    const auto rank = static_cast<int>(counts.size());
    const Handle memory_space =
        checked(rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(rank, counts.data(), nullptr),
                "make a box");
    if (rank > 0) {
      check(H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, start.data(), nullptr,
                                counts.data(), nullptr),
            "select a box");
    }
    // Reads with the file's own type as the memory type, so that elements are not converted.
    check(H5Dread(dataset.id.get(), dataset.type.get(), memory_space.get(), file_space.get(),
                  H5P_DEFAULT, buffer.data()),
          "read the data");
    write_output(std::span(buffer).first(bytes));
    renew_time_limit(seconds);
  });
}

/// Throws if the file stores fewer bytes than the extents of contiguous data need. The client reads
/// these bytes from the file itself, so they must be there.
void check_storage_size(const Dataset& dataset) {
  hsize_t bytes = dataset.element_bytes;
  for (const hsize_t extent : dataset.extents) bytes *= extent;
  const hsize_t stored = H5Dget_storage_size(dataset.id.get());
  if (stored >= bytes) return;
  throw Failure{hdf5_protocol::kFormat, "expected " + std::to_string(bytes) +
                                            " bytes of data, the file holds " +
                                            std::to_string(stored)};
}

}  // namespace

void read_dataset(const Request& request) {
  const Handle file = open_file(request.file, Access::kRead);
  std::string path = request.dataset;
  if (path.empty()) {
    std::vector<std::string> names = dataset_names(file.get(), "/");
    std::vector<std::string> known{"datasets"};
    known.insert(known.end(), names.begin(), names.end());
    write_output(line(known));
    path = only_dataset(file.get(), std::move(names), request.display_name());
  }
  const Dataset dataset = open_dataset(file.get(), path, request.max_bytes);
  write_output(line({"array", path, dataset.descr, shape_field(dataset.extents)}));
  // Only contiguous data that was written has an offset. Data that was never written reads as its
  // fill value.
  const haddr_t offset = H5Dget_offset(dataset.id.get());
  if (offset != HADDR_UNDEF) {
    check_storage_size(dataset);
    return write_output(line({"at", std::to_string(offset)}));
  }
  write_output(line({"data"}));
  put_elements(dataset, request.seconds);
}

}  // namespace maskctl::hdf5
