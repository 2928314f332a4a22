// Writes HDF5 files: the helper writes to a temporary file, which is then renamed.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "maskctl/base/atomic_file.h"
#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/io/formats/append.h"
#include "maskctl/io/formats/hdf5/hdf5.h"
#include "maskctl/io/formats/hdf5/hdf5_container.h"
#include "maskctl/io/formats/hdf5/hdf5_process.h"
#include "maskctl/io/formats/hdf5/hdf5_protocol.h"
#include "maskctl/io/formats/npy/npy_descr.h"

namespace maskctl {
namespace {

void copy_bytes_to(ByteSource& source, AtomicFile& file) {
  std::vector<std::byte> part(std::size_t{1} << 20);
  while (const Index got = source.read(part)) {
    file.write(std::span(part).first(static_cast<std::size_t>(got)));
  }
}

Index data_bytes(const std::string& name, DType dtype, std::span<const Index> shape) {
  const auto elements = checked_product(shape);
  const auto bytes = elements ? checked_mul(*elements, size_bytes(dtype)) : std::nullopt;
  if (!bytes || shape.size() > 8) {
    throw Error(Errc::kShape,
                fmt::format("{}: the shape {} is too large to write", name, shape_text(shape)));
  }
  return *bytes;
}

std::string shape_field(std::span<const Index> shape) {
  std::string out;
  for (const Index extent : shape) out += (out.empty() ? "" : ",") + std::to_string(extent);
  return out;
}

}  // namespace

struct Hdf5Writer::Impl {
  Impl(const std::string& dest, const WriteOptions& given)
      : name(dest == "-" ? "stdout" : dest),
        options(given),
        lock(lock_for_write(dest)),
        old(file_to_append(dest, kHdf5Format, given)),
        file(dest == "-" ? "/dev/stdout" : dest, given.force || old) {
    if (file.is_terminal()) {
      throw Error(Errc::kIo, "refusing to write HDF5 to a terminal", {{Remedy::kNameOutput}});
    }
    if (old) copy_bytes_to(*old, file);
    start();
  }

  /// Starts the helper. HDF5 does not write files front to back: for pipes and devices, the helper
  /// builds the file in memory and then copies it.
  void start() {
    Hdf5Process::Plan plan;
    plan.name = name;
    plan.writing = true;
    plan.replace = options.force;
    plan.max_bytes = Index{1} << 30;
    plan.words = {old ? "append" : "create",
                  in_memory() ? "/dev/stdout" : hdf5_protocol::kGivenFile};
    if (!in_memory()) plan.target = file.descriptor();
    process.emplace(std::move(plan));
  }

  bool in_memory() const { return file.is_direct(); }

  void send(const std::string& line) { process->write(std::as_bytes(std::span(line))); }

  std::string name;
  WriteOptions options;
  std::unique_ptr<ReplaceLock> lock;  // null for pipes and devices
  std::optional<ByteSource> old;      // the file to append to
  AtomicFile file;
  std::optional<Hdf5Process> process;
  Index remaining = 0;
};

Hdf5Writer::Hdf5Writer(const std::string& dest, const WriteOptions& options)
    : impl_(std::make_unique<Impl>(dest, options)) {}

Hdf5Writer::~Hdf5Writer() = default;

void Hdf5Writer::take(const std::string& path) {
  impl_->send(hdf5_protocol::line({"take", Hdf5Container::path_of(path)}));
}

void Hdf5Writer::begin(const std::string& path, DType dtype, const std::vector<Index>& shape) {
  const Index bytes = data_bytes(impl_->name, dtype, shape);
  if (impl_->remaining != 0) {
    throw Error(Errc::kInvalidArgument, "a dataset was begun before the previous one was complete");
  }
  impl_->send(hdf5_protocol::line({"array", Hdf5Container::path_of(path), npy_descr(dtype),
                                   shape_field(shape), std::to_string(impl_->options.gzip)}));
  impl_->remaining = bytes;
}

void Hdf5Writer::write(std::span<const std::byte> elements) {
  const auto count = static_cast<Index>(elements.size());
  if (count > impl_->remaining) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{} bytes written where the shape leaves {}", count, impl_->remaining));
  }
  impl_->process->write(elements);
  impl_->remaining -= count;
}

void Hdf5Writer::dataset(const std::string& path, const Tensor& tensor) {
  begin(path, tensor.dtype(), tensor.shape());
  write(tensor.bytes());
}

void Hdf5Writer::attribute(const std::string& object, const std::string& name,
                           const std::string& value) {
  impl_->send(hdf5_protocol::line({"attribute", Hdf5Container::path_of(object), name, value}));
}

void Hdf5Writer::commit() {
  if (impl_->remaining != 0) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{} bytes fewer written than the shape needs", impl_->remaining));
  }
  impl_->send(hdf5_protocol::line({"end"}));
  std::vector<std::byte> part(std::size_t{1} << 16);
  while (const Index got = impl_->process->read(part)) {
    impl_->file.write(std::span(part).first(static_cast<std::size_t>(got)));
  }
  impl_->file.commit();
}

}  // namespace maskctl
