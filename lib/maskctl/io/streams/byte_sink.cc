// Destinations: a file that appears whole or not at all, or standard output.
#include <fmt/format.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "maskctl/base/atomic_file.h"
#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/io/array_io.h"

namespace maskctl {
namespace {

Index data_bytes(DType dtype, std::span<const Index> shape) {
  const auto elements = checked_product(shape);
  const auto bytes = elements ? checked_mul(*elements, size_bytes(dtype)) : std::nullopt;
  if (!bytes) {
    throw Error(Errc::kShape, fmt::format("shape {} is too large to write", shape_text(shape)));
  }
  return *bytes;
}

}  // namespace

struct ByteSink::Impl {
  std::optional<AtomicFile> file;  // empty for standard output
};

ByteSink::ByteSink(const std::string& dest, const WriteOptions& options, std::string_view kind)
    : impl_(std::make_unique<Impl>()) {
  if (dest != "-") impl_->file.emplace(dest, options.force);
  const bool terminal = impl_->file ? impl_->file->is_terminal() : ::isatty(STDOUT_FILENO) == 1;
  if (terminal && !kind.empty()) {
    throw Error(Errc::kIo, fmt::format("refusing to write {} to a terminal", kind),
                {{Remedy::kNameOutput}});
  }
}

ByteSink::~ByteSink() = default;

void ByteSink::write(std::span<const std::byte> bytes) {
  if (impl_->file) {
    impl_->file->write(bytes);
  } else {
    write_all(STDOUT_FILENO, bytes, "stdout");
  }
}

void ByteSink::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void ByteSink::commit() {
  if (impl_->file) impl_->file->commit();
}

NpyWriter::NpyWriter(const std::string& dest, DType dtype, std::vector<Index> shape,
                     const WriteOptions& options)
    : sink_(dest, options, ".npy"), remaining_(data_bytes(dtype, shape)) {
  sink_.write(npy_header_bytes(dtype, shape));
}

void NpyWriter::write(std::span<const std::byte> bytes) {
  if (static_cast<Index>(bytes.size()) > remaining_) {
    throw Error(Errc::kInvalidArgument, fmt::format("{} bytes written where the shape leaves {}",
                                                    bytes.size(), remaining_));
  }
  sink_.write(bytes);
  remaining_ -= static_cast<Index>(bytes.size());
}

void NpyWriter::commit() {
  if (remaining_ != 0) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{} bytes fewer written than the shape needs", remaining_));
  }
  sink_.commit();
}

}  // namespace maskctl
