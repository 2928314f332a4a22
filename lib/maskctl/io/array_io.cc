// Reads and writes tensors that SOURCE and DEST texts name.
#include "maskctl/io/array_io.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "maskctl/base/atomic_file.h"
#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/io/formats/container.h"
#include "maskctl/io/formats/formats.h"
#include "maskctl/io/kinds/kind.h"

namespace maskctl {
namespace {

bool exists(std::string_view path) {
  struct stat info {};
  return ::stat(std::string(path).c_str(), &info) == 0;
}

/// The first container format that has a suffix for which holds(suffix) is true; null if none has.
template <typename F>
const FileFormat* find_container(const F& holds) {
  for (const FileFormat* format : kFileFormats) {
    for (const std::string_view suffix : format->suffixes) {
      if (format->is_container() && !suffix.empty() && holds(suffix)) return format;
    }
  }
  return nullptr;
}

/// The file, array name and format of a text like "f.npz:KEY" or "f.npz". Nothing if the text does
/// not name a container by its suffix.
std::optional<DestName> container_name(std::string_view text) {
  std::size_t colon = std::string_view::npos;
  const FileFormat* format = find_container([&](std::string_view suffix) {
    const std::size_t at = text.rfind(std::string(suffix) + ":");
    if (at == std::string_view::npos || at == 0) return false;
    colon = at + suffix.size();
    return true;
  });
  if (format) {
    return {{std::string(text.substr(0, colon)), std::string(text.substr(colon + 1)), format}};
  }
  format = find_container([&](std::string_view suffix) { return text.ends_with(suffix); });
  return format ? std::optional<DestName>({std::string(text), "", format}) : std::nullopt;
}

SourceName split_at(std::string_view text, std::size_t colon) {
  return {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

std::string_view container_suffix(const FileFormat& format) {
  return format.is_container() ? format.suffixes[0] : "";
}

void check_options(const DestName& dest, const WriteOptions& options) {
  if (options.gzip < 0 || options.gzip > 9) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("gzip level {}: expected 0 to 9", options.gzip));
  }
  if (options.gzip != 0 && !dest.format->compresses) {
    const auto suffix = [](const FileFormat& format) {
      return format.compresses ? format.suffixes[0] : "";
    };
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: gzip packs the arrays of an {}; name one of these", dest.path,
                            formats_text(suffix)));
  }
  if (options.append && !dest.is_container()) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: arrays are added to a container; name an {} file", dest.path,
                            formats_text(container_suffix)));
  }
}

/// What the options mean for a DEST: an array that is named is added to its file.
WriteOptions settled(const DestName& dest, WriteOptions options) {
  if (options.append && options.replace_file) {
    throw Error(Errc::kInvalidArgument,
                dest.path +
                    ": a file that is replaced keeps no arrays; append cannot be "
                    "combined with replacing the file");
  }
  check_options(dest, options);
  if (dest.path == "-") return options;
  struct stat info {};
  const bool there = ::stat(dest.path.c_str(), &info) == 0;
  const bool is_file = there && S_ISREG(info.st_mode);
  if (options.replace_file) options.force = true;
  if (!options.replace_file && !dest.member.empty()) options.append = is_file || !there;
  if (!is_file || options.force || options.append) return options;
  const auto content = dest_content(dest.path);
  if (!content) return options;
  throw Error(Errc::kIo, fmt::format("{} exists and holds {}", dest.path, content->text()),
              {{Remedy::kOverwrite}});
}

/// Suffixes of formats in which arrays are never written. They are refused, because a file's name
/// should not promise a format that its content does not have.
constexpr std::array<std::string_view, 22> kUnwritten = {
    ".pt",    ".pth",  ".bin", ".ckpt", ".pkl", ".pickle", ".csv",  ".tsv",
    ".txt",   ".json", ".mat", ".gz",   ".zip", ".tar",    ".gguf", ".parquet",
    ".arrow", ".zarr", ".png", ".jpg",  ".svg", ".html"};

void check_suffix(std::string_view path) {
  for (const std::string_view suffix : kUnwritten) {
    if (!path.ends_with(suffix)) continue;
    throw Error(
        Errc::kInvalidArgument,
        fmt::format("{}: no {} is written; name a {}", path, suffix,
                    formats_text([](const FileFormat& format) { return format.suffixes[0]; })));
  }
}

/// A number of bytes as text: "4 GiB", "931.3 GiB".
std::string size_text(Index bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024; value /= 1024) ++unit;
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

/// The number of free bytes on the disk to which `dest` is written; nothing if that is no regular
/// file.
std::optional<Index> free_bytes(const DestName& dest) {
  struct statvfs disk {};
  struct stat info {};
  if (dest.path == "-") {
    if (::fstat(STDOUT_FILENO, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
    if (::fstatvfs(STDOUT_FILENO, &disk) != 0) return std::nullopt;
  } else {
    const std::string folder = std::filesystem::path(dest.path).parent_path().string();
    if (::stat(dest.path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) return std::nullopt;
    if (::statvfs(folder.empty() ? "." : folder.c_str(), &disk) != 0) return std::nullopt;
  }
  return checked_mul(static_cast<Index>(disk.f_bavail), static_cast<Index>(disk.f_frsize));
}

/// Throws if the array would exceed the limit or the free space, before anything is written: a lazy
/// mask is small, but its dense array may fill the disk.
void check_space(const DestName& dest, DType dtype, std::span<const Index> shape, Index max_bytes) {
  const auto elements = checked_product(shape);
  const auto bytes = elements ? checked_mul(*elements, size_bytes(dtype)) : std::nullopt;
  const bool held = dest.format->begin == nullptr;
  const auto space = held ? max_bytes : free_bytes(dest);
  if (!space) return;
  const Index least = std::min(*space, max_bytes);
  if (bytes && *bytes <= least) return;
  const std::string size = bytes ? size_text(*bytes) : "more than 2^63 bytes";
  std::vector<Remedy> remedies{{Remedy::kWriteAs, name(ArrayKind::kRuns)}};
  std::string why = fmt::format("{} are free there", size_text(*space));
  if (!bytes || *bytes > max_bytes) {
    why = fmt::format("the limit is {}", size_text(max_bytes));
    remedies.push_back({Remedy::kRaiseMemoryLimit});
  }
  throw Error(Errc::kLimit,
              fmt::format("{}: the array {} takes {}, and {}; a mask as runs is small at any size",
                          dest.path, shape_text(shape), size, why),
              std::move(remedies));
}

std::string names_of(std::span<const ArrayStream> arrays) {
  std::string out;
  for (const ArrayStream& array : arrays) out += (out.empty() ? "" : ", ") + array.spec.name;
  return out;
}

/// Collects the whole array in memory, for formats that cannot be written part by part.
class HeldWriter final : public ArrayWriter {
 public:
  HeldWriter(DestName dest, ArraySpec array, const WriteOptions& options)
      : ArrayWriter(array),
        dest_(std::move(dest)),
        name_(std::move(array.name)),
        options_(options),
        whole_(Tensor::unwritten(array.dtype, std::move(array.shape))) {}

 private:
  void put(std::span<const std::byte> bytes) override {
    std::ranges::copy(bytes, whole_.bytes().begin() + filled_);
    filled_ += std::ssize(bytes);
  }
  void finish() override {
    const ArrayRef array{name_, &whole_};
    dest_.format->write(dest_.path, name_, streams_of({&array, 1}), options_);
  }

  DestName dest_;
  std::string name_;
  WriteOptions options_;
  Tensor whole_;
  std::ptrdiff_t filled_ = 0;  // bytes
};

/// The name that a container gives to the array of `dest`.
std::string key_in(const DestName& dest) { return dest.member.empty() ? "arr_0" : dest.member; }

}  // namespace

bool DestName::is_container() const { return format->is_container(); }

std::unique_ptr<ArrayWriter> array_writer(const std::string& dest, DType dtype,
                                          std::vector<Index> shape, const WriteOptions& options,
                                          Index max_bytes) {
  const DestName name = parse_dest_name(dest);
  const WriteOptions how = settled(name, options);
  check_space(name, dtype, shape, max_bytes);
  ArraySpec array{key_in(name), dtype, std::move(shape)};
  if (name.format->begin) return name.format->begin(name.path, array, how);
  return std::make_unique<HeldWriter>(name, std::move(array), how);
}

bool has_array_suffix(std::string_view path) {
  return std::ranges::any_of(kFileFormats, [path](const FileFormat* format) {
    return std::ranges::any_of(format->suffixes, [path](std::string_view suffix) {
      return !suffix.empty() && path.ends_with(suffix);
    });
  });
}

SourceName parse_source_name(std::string_view text) {
  if (text == "-" || exists(text)) return {std::string(text), ""};
  if (text.starts_with("-:")) return split_at(text, 1);
  for (std::size_t colon = text.rfind(':'); colon != std::string_view::npos && colon > 0;
       colon = text.rfind(':', colon - 1)) {
    if (exists(text.substr(0, colon))) return split_at(text, colon);
  }
  if (const auto container = container_name(text)) return {container->path, container->member};
  return {std::string(text), ""};
}

Tensor read_array(const std::string& source, const ReadOptions& options,
                  std::vector<std::string>* notes) {
  const SourceName name = parse_source_name(source);
  const auto container = open_container(name.path, options);
  std::vector<std::string> unread;
  return container->read(name.member.empty() ? container->only_key() : name.member, options,
                         notes != nullptr ? *notes : unread);
}

DestName parse_dest_name(std::string_view text) {
  if (auto container = container_name(text)) {
    if (container->member.empty() && text.size() > container->path.size()) {
      throw Error(Errc::kInvalidArgument,
                  fmt::format("{}: an empty name after the colon; name the array, or the file "
                              "without the colon",
                              text));
    }
    return *std::move(container);
  }
  check_suffix(text);
  return {std::string(text), "", &kNpyFormat};
}

std::string DestContent::text() const {
  std::vector<std::string> names;
  names.reserve(arrays.size());
  for (const Array& array : arrays) names.push_back(array.name);
  return fmt::format("{} ({})", counted(std::ssize(arrays), "array"), printable_list(names));
}

std::optional<DestContent> dest_content(const std::string& dest) {
  const DestName name = parse_dest_name(dest);
  std::error_code failed;
  if (!name.is_container() || !std::filesystem::is_regular_file(name.path, failed)) {
    return std::nullopt;
  }
  try {
    const auto container = open_container(ByteSource(name.path), {});
    if (container->holds_one_array()) return std::nullopt;
    const std::string wanted = printable(container->key_of(name.member));
    DestContent out;
    for (ContainerOutline::Array& array : container->outline().arrays) {
      out.arrays.push_back({std::move(array.name), std::move(array.dtype), std::move(array.shape)});
      if (!name.member.empty() && out.arrays.back().name == wanted) out.named = out.arrays.back();
    }
    return out;
  } catch (const Error& error) {
    if (error.code() == Errc::kCancelled) throw;
    return std::nullopt;
  }
}

void check_dest(const std::string& dest, const WriteOptions& options) {
  const DestName name = parse_dest_name(dest);
  const WriteOptions how = settled(name, options);
  struct stat info {};
  const bool there = ::stat(name.path.c_str(), &info) == 0;
  if (name.path == "-" || (there && !S_ISREG(info.st_mode))) return;
  const AtomicFile trial(name.path, how.force || how.append);
}

void write_array(const std::string& dest, const ArrayStream& array, const WriteOptions& options) {
  const DestName name = parse_dest_name(dest);
  const WriteOptions how = settled(name, options);
  if (name.is_container()) {
    ArrayStream named = array;
    named.spec.name = key_in(name);
    return name.format->write(name.path, named.spec.name, {&named, 1}, how);
  }
  const auto writer = name.format->begin(name.path, array.spec, how);
  array.give([&writer](std::span<const std::byte> bytes) { writer->write(bytes); });
  writer->commit();
}

void write_array(const std::string& dest, const Tensor& tensor, const WriteOptions& options) {
  const ArrayRef array{"", &tensor};
  write_array(dest, streams_of({&array, 1}).front(), options);
}

void write_arrays(const std::string& dest, std::span<const ArrayStream> arrays,
                  const WriteOptions& options) {
  DestName name = parse_dest_name(dest);
  if (name.path == "-") name.format = &kNpzFormat;
  if (!name.is_container()) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: {} holds one array, these are {} ({}); name an {} file", dest,
                            name.format->wanted, arrays.size(), names_of(arrays),
                            formats_text(container_suffix)));
  }
  const WriteOptions how = settled(name, options);
  std::vector<ArrayStream> named(arrays.begin(), arrays.end());
  for (ArrayStream& array : named) {
    if (!name.member.empty()) array.spec.name = name.member + "/" + array.spec.name;
  }
  name.format->write(name.path, name.member, named, how);
}

void write_arrays(const std::string& dest, std::span<const ArrayRef> arrays,
                  const WriteOptions& options) {
  write_arrays(dest, streams_of(arrays), options);
}

void write_npz(const std::string& dest, std::span<const NamedTensor> arrays,
               const WriteOptions& options) {
  std::vector<ArrayRef> refs;
  for (const NamedTensor& array : arrays) refs.push_back({array.name, &array.tensor});
  kNpzFormat.write(dest, "", streams_of(refs), options);
}

}  // namespace maskctl
