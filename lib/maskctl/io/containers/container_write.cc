#include "maskctl/io/containers/container_write.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/io/containers/container.h"
#include "maskctl/io/formats/hdf5/hdf5.h"
#include "maskctl/io/printable.h"

namespace maskctl {
namespace {

bool exists(const std::string& path) { return path != "-" && ::access(path.c_str(), F_OK) == 0; }

void refuse_other(const ByteSource& source, FileType type, const char* expected) {
  throw Error(Errc::kFormat, fmt::format("{}: it looks like {}; adding arrays needs {}",
                                         source.name(), describe(type), expected));
}

void check_new(const std::string& path, const std::vector<std::string>& has,
               const std::string& name, bool force) {
  if (force || std::ranges::find(has, name) == has.end()) return;
  throw Error(Errc::kIo, fmt::format("{}: already holds an array '{}'", path, printable(name)),
              {{Remedy::kOverwrite}});
}

/// The file to which arrays are added, if it exists.
std::optional<ByteSource> existing(const std::string& path, FileType expected, const char* format,
                                   const WriteOptions& options) {
  if (!options.append || !exists(path)) return std::nullopt;
  ByteSource source(path);
  if (!source.seekable()) {
    throw Error(Errc::kInvalidArgument, path + ": is not a regular file; adding arrays needs one");
  }
  const FileType type = sniff(source);
  if (type != expected) refuse_other(source, type, format);
  return source;
}

void write_npz_file(const std::string& path, std::span<const ArrayRef> arrays,
                    const WriteOptions& options) {
  const auto lock = lock_for_append(path, options);
  const auto old = existing(path, FileType::kZip, "an .npz", options);
  if (old) {
    const auto has = NpzArchive(ByteSource(path)).keys();
    for (const ArrayRef& array : arrays) check_new(path, has, array.name, options.force);
  }
  ByteSink sink(path, {.force = options.force || old}, ".npz");
  const WriteBytes write = [&](std::span<const std::byte> bytes) { sink.write(bytes); };
  if (old) {
    append_npz_bytes(write, *old, arrays, options.gzip);
  } else {
    write_npz_bytes(write, arrays, options.gzip);
  }
  sink.commit();
}

void write_safetensors_file(const std::string& path, std::span<const ArrayRef> arrays,
                            const WriteOptions& options) {
  std::vector<SafetensorsSpec> specs;
  for (const ArrayRef& array : arrays) {
    specs.push_back({array.name, array.tensor->dtype(), array.tensor->shape()});
  }
  SafetensorsWriter writer(path, specs, options);
  for (const ArrayRef& array : arrays) writer.write(array.tensor->bytes());
  writer.commit();
}

}  // namespace

std::unique_ptr<ReplaceLock> lock_for_append(const std::string& path, const WriteOptions& options) {
  return options.append && path != "-" ? std::make_unique<ReplaceLock>(path) : nullptr;
}

SafetensorsWriter::SafetensorsWriter(const std::string& path,
                                     std::span<const SafetensorsSpec> tensors,
                                     const WriteOptions& options)
    : lock_(lock_for_append(path, options)) {
  auto old = existing(path, FileType::kSafetensors, "a safetensors file", options);
  SafetensorsHeader kept;
  if (old) {
    kept = read_safetensors_header(*old);
    std::vector<std::string> has;
    for (const SafetensorsEntry& entry : kept.entries) has.push_back(entry.name);
    for (const SafetensorsSpec& tensor : tensors) check_new(path, has, tensor.name, options.force);
    std::erase_if(kept.entries, [&](const SafetensorsEntry& entry) {
      return std::ranges::find(tensors, entry.name, &SafetensorsSpec::name) != tensors.end();
    });
  }
  const auto header = safetensors_header_bytes(tensors, kept);
  sink_ =
      std::make_unique<ByteSink>(path, WriteOptions{.force = options.force || old}, ".safetensors");
  sink_->write(header);
  const WriteBytes write = [this](std::span<const std::byte> bytes) { sink_->write(bytes); };
  for (const SafetensorsEntry& entry : kept.entries) {
    copy_bytes(write, *old, kept.data_offset + entry.begin, entry.end - entry.begin);
  }
}

void write_container(const DestName& dest, std::span<const ArrayRef> arrays,
                     const WriteOptions& options) {
  if (dest.format == Format::kHdf5) {
    Hdf5Writer writer(dest.path, options);
    for (const ArrayRef& array : arrays) writer.dataset(array.name, *array.tensor);
    writer.commit();
  } else if (dest.format == Format::kSafetensors) {
    write_safetensors_file(dest.path, arrays, options);
  } else {
    write_npz_file(dest.path, arrays, options);
  }
}

}  // namespace maskctl
