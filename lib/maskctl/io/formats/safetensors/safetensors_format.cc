// The FileFormat of safetensors.
#include <algorithm>

#include "maskctl/base/printable.h"
#include "maskctl/io/formats/append.h"
#include "maskctl/io/formats/formats.h"
#include "maskctl/io/formats/npz/npz.h"
#include "maskctl/io/formats/safetensors/safetensors.h"
#include "maskctl/io/streams/byte_sink.h"

namespace maskctl {
namespace {

using namespace std::string_view_literals;

class SafetensorsContainer final : public Container {
 public:
  SafetensorsContainer(ByteSource source, const ReadOptions& options)
      : file_(std::move(source), options) {}
  const std::string& name() const override { return file_.name(); }
  const std::vector<std::string>& keys() const override { return file_.keys(); }
  bool contains(const std::string& key) const override { return file_.contains(key); }
  std::span<const Metadata> metadata() const override { return file_.header().metadata; }
  OpenArray open(const std::string& key, const ReadOptions&, std::vector<std::string>&) override {
    return open_array(file_.open(key));
  }
  ContainerOutline outline() override {
    ContainerOutline out;
    for (const SafetensorsEntry& entry : file_.header().entries) {
      out.arrays.push_back(
          {printable(entry.name),
           entry.dtype ? std::string(maskctl::name(*entry.dtype)) : printable(entry.dtype_name),
           entry.shape});
    }
    return out;
  }

 private:
  SafetensorsFile file_;
};

/// Writes a file: the header and the tensors kept from an old file, then the data of the new
/// tensors as it comes.
class NewFile {
 public:
  NewFile(const std::string& path, const TakenNames& taken, std::span<const ArraySpec> tensors,
          const WriteOptions& options, std::span<const Metadata> metadata = {})
      : lock_(lock_for_write(path)), old_(file_to_append(path, kSafetensorsFormat, options)) {
    SafetensorsHeader kept;
    kept.metadata.assign(metadata.begin(), metadata.end());
    if (old_) kept = kept_of(path, taken, options);
    const auto header = safetensors_header_bytes(tensors, kept);
    sink_.emplace(path, WriteOptions{.force = options.force || old_}, ".safetensors");
    sink_->write(header);
    const WriteBytes write = [this](std::span<const std::byte> bytes) { sink_->write(bytes); };
    for (const SafetensorsEntry& entry : kept.entries) {
      copy_bytes(write, *old_, kept.data_offset + entry.begin, entry.end - entry.begin);
    }
  }
  void write(std::span<const std::byte> bytes) { sink_->write(bytes); }
  void commit() { sink_->commit(); }

 private:
  /// The header of the old file without the tensors that new ones replace.
  SafetensorsHeader kept_of(const std::string& path, const TakenNames& taken,
                            const WriteOptions& options) {
    SafetensorsHeader kept = read_safetensors_header(*old_);
    std::vector<std::string> has;
    has.reserve(kept.entries.size());
    for (const SafetensorsEntry& entry : kept.entries) has.push_back(entry.name);
    taken.check_new(path, has, options);
    std::erase_if(kept.entries,
                  [&](const SafetensorsEntry& entry) { return taken.contains(entry.name); });
    return kept;
  }

  std::unique_ptr<ReplaceLock> lock_;  // null for pipes and devices
  std::optional<ByteSource> old_;
  std::optional<ByteSink> sink_;
};

class SafetensorsWriter final : public ArrayWriter {
 public:
  SafetensorsWriter(const std::string& path, const ArraySpec& array, const WriteOptions& options)
      : ArrayWriter(array), file_(path, TakenNames(array.name), std::span(&array, 1), options) {}

 private:
  void put(std::span<const std::byte> bytes) override { file_.write(bytes); }
  void finish() override { file_.commit(); }

  NewFile file_;
};

void write_streams(NewFile& file, std::span<const ArrayStream> arrays) {
  for (const ArrayStream& array : arrays) {
    array.give([&file](std::span<const std::byte> bytes) { file.write(bytes); });
  }
  file.commit();
}

std::vector<ArraySpec> specs_of(std::span<const ArrayStream> arrays) {
  std::vector<ArraySpec> specs;
  for (const ArrayStream& array : arrays) specs.push_back(array.spec);
  return specs;
}

void write_safetensors_file(const std::string& path, const std::string& name,
                            std::span<const ArrayStream> arrays, const WriteOptions& options) {
  NewFile file(path, TakenNames(name, arrays), specs_of(arrays), options);
  write_streams(file, arrays);
}

/// Recognises a header: a little-endian length below 4 GiB, then a '{'.
bool is_safetensors(ByteSource& source) {
  const auto head = peek_text(source, 9);
  return head.size() == 9 && head[8] == '{' && head.substr(4, 4) == "\0\0\0\0"sv;
}

}  // namespace

void write_safetensors(const std::string& path, std::span<const ArrayRef> arrays,
                       std::span<const Metadata> metadata, bool force) {
  const std::vector<ArrayStream> streams = streams_of(arrays);
  NewFile file(path, TakenNames("", streams), specs_of(streams), {.force = force}, metadata);
  write_streams(file, streams);
}

const FileFormat kSafetensorsFormat = {
    .name = ".safetensors",
    .suffixes = {".safetensors"},
    .wanted = "a safetensors file",
    .looks_like = "a safetensors file",
    .recognise = is_safetensors,
    .open = opened<SafetensorsContainer>,
    .write = write_safetensors_file,
    .begin = begun<SafetensorsWriter>,
};

}  // namespace maskctl
