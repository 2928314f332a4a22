// The FileFormat of HDF5.
#include <fmt/format.h>

#include "maskctl/io/formats/formats.h"
#include "maskctl/io/formats/hdf5/hdf5_container.h"
#include "maskctl/io/formats/npy/npy_descr.h"

namespace maskctl {
namespace {

using namespace std::string_view_literals;

/// HDF5 files have the magic bytes at the start, or after a user block (512 bytes in MATLAB's
/// files) whose size is a power of two.
bool is_hdf5(ByteSource& source) {
  constexpr auto kMagic = "\x89HDF\r\n\x1a\n"sv;
  constexpr std::size_t kSmallest = 512, kLargest = std::size_t{64} << 10;
  if (peek_text(source, std::ssize(kMagic)) == kMagic) return true;
  const auto head = peek_text(source, static_cast<Index>(kLargest + kMagic.size()));
  for (std::size_t at = kSmallest; at < head.size(); at *= 2) {
    if (head.substr(at).starts_with(kMagic)) return true;
  }
  return false;
}

class Hdf5ArrayWriter final : public ArrayWriter {
 public:
  Hdf5ArrayWriter(const std::string& path, const ArraySpec& array, const WriteOptions& options)
      : ArrayWriter(array), writer_(path, options) {
    writer_.take(array.name);
    writer_.begin(array.name, array.dtype, array.shape);
  }

 private:
  void put(std::span<const std::byte> bytes) override { writer_.write(bytes); }
  void finish() override { writer_.commit(); }

  Hdf5Writer writer_;
};

void write_hdf5_file(const std::string& path, const std::string& name,
                     std::span<const ArrayStream> arrays, const WriteOptions& options) {
  Hdf5Writer writer(path, options);
  if (!name.empty()) writer.take(name);
  for (const ArrayStream& array : arrays) {
    if (name.empty()) writer.take(array.spec.name);
  }
  for (const auto& [spec, give] : arrays) {
    writer.begin(spec.name, spec.dtype, spec.shape);
    give([&writer](std::span<const std::byte> bytes) { writer.write(bytes); });
  }
  writer.commit();
}

}  // namespace

const FileFormat kHdf5Format = {
    .name = "HDF5",
    .suffixes = {".h5", ".hdf5"},
    .wanted = "an HDF5 file",
    .looks_like = "an HDF5 file",
    .recognise = is_hdf5,
    .open = opened<Hdf5Container>,
    .write = write_hdf5_file,
    .begin = begun<Hdf5ArrayWriter>,
    .compresses = true,
};

}  // namespace maskctl
