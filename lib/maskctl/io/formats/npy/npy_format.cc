// The FileFormat of .npy: a file of one array, without a key.
#include <fmt/format.h>

#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/io/formats/formats.h"
#include "maskctl/io/formats/npy/npy_descr.h"
#include "maskctl/io/streams/byte_sink.h"

namespace maskctl {
namespace {

class NpyContainer final : public Container {
 public:
  NpyContainer(ByteSource source, const ReadOptions&)
      : source_(std::move(source)), name_(source_.name()) {}
  const std::string& name() const override { return name_; }
  const std::vector<std::string>& keys() const override { return keys_; }
  bool holds_one_array() const override { return true; }
  OpenArray open(const std::string& key, const ReadOptions& options,
                 std::vector<std::string>& notes) override {
    if (!key.empty()) {
      throw Error(Errc::kInvalidArgument,
                  fmt::format("{}: a .npy file is one array; drop ':{}'", name_, printable(key)));
    }
    return open_array(std::make_shared<NpyReader>(std::move(source_), options, &notes));
  }
  ContainerOutline outline() override {
    NpyOutline array = read_npy_outline(source_);
    return {{{"", dtype_text(array.descr), std::move(array.shape)}}, {}};
  }

 private:
  ByteSource source_;
  std::string name_;
  std::vector<std::string> keys_{""};
};

class NpyWriter final : public ArrayWriter {
 public:
  NpyWriter(const std::string& path, const ArraySpec& array, const WriteOptions& options)
      : ArrayWriter(array), sink_(path, options, ".npy") {
    sink_.write(npy_header_bytes(array.dtype, array.shape));
  }

 private:
  void put(std::span<const std::byte> bytes) override { sink_.write(bytes); }
  void finish() override { sink_.commit(); }

  ByteSink sink_;
};

}  // namespace

const FileFormat kNpyFormat = {
    .name = ".npy",
    .suffixes = {".npy"},
    .wanted = "an .npy",
    .looks_like = "a .npy file",
    .recognise = [](ByteSource& source) { return peek_text(source, 6) == "\x93NUMPY"; },
    .open = opened<NpyContainer>,
    .begin = begun<NpyWriter>,
};

}  // namespace maskctl
