// The FileFormat of .npz.
#include <fmt/format.h>

#include "maskctl/base/printable.h"
#include "maskctl/io/formats/append.h"
#include "maskctl/io/formats/formats.h"
#include "maskctl/io/formats/npy/npy_descr.h"
#include "maskctl/io/formats/npz/npz.h"
#include "maskctl/io/streams/byte_sink.h"

namespace maskctl {
namespace {

class NpzContainer final : public Container {
 public:
  NpzContainer(ByteSource source, const ReadOptions& options)
      : archive_(std::move(source), options) {}
  const std::string& name() const override { return archive_.name(); }
  const std::vector<std::string>& keys() const override { return archive_.keys(); }
  bool contains(const std::string& key) const override { return archive_.contains(key); }
  OpenArray open(const std::string& key, const ReadOptions& options,
                 std::vector<std::string>& notes) override {
    Tensor tensor = archive_.read(key, options, &notes);
    return open_array(fmt::format("{}:{}", name(), printable(key)), std::move(tensor));
  }
  ContainerOutline outline() override {
    ContainerOutline out;
    for (const std::string& key : keys()) {
      NpyOutline array = archive_.outline(key);
      out.arrays.push_back({printable(key), dtype_text(array.descr), std::move(array.shape)});
    }
    return out;
  }

 private:
  NpzArchive archive_;
};

void write_npz_file(const std::string& path, const std::string& name,
                    std::span<const ArrayStream> arrays, const WriteOptions& options) {
  const auto lock = lock_for_write(path);
  const auto old = file_to_append(path, kNpzFormat, options);
  const TakenNames taken(name, arrays);
  if (old) taken.check_new(path, NpzArchive(ByteSource(path)).keys(), options);
  ByteSink sink(path, {.force = options.force || old}, ".npz");
  const WriteBytes write = [&](std::span<const std::byte> bytes) { sink.write(bytes); };
  if (old) {
    const auto replaced = [&](std::string_view key) { return taken.contains(key); };
    append_npz_bytes(write, *old, replaced, arrays, options.gzip);
  } else {
    write_npz_bytes(write, arrays, options.gzip);
  }
  sink.commit();
}

bool is_zip(ByteSource& source) {
  const auto head = peek_text(source, 4);
  return head == "PK\3\4" || head == "PK\5\6";
}

}  // namespace

const FileFormat kNpzFormat = {
    .name = ".npz",
    .suffixes = {".npz"},
    .wanted = "an .npz",
    .looks_like = "a zip archive (.npz)",
    .recognise = is_zip,
    .open = opened<NpzContainer>,
    .write = write_npz_file,
    .compresses = true,
};

}  // namespace maskctl
