// SOURCE and DEST texts to tensors and back.
#include "maskctl/io/array_io.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/io/containers/container.h"
#include "maskctl/io/containers/container_write.h"
#include "maskctl/io/containers/kind.h"
#include "maskctl/io/formats/hdf5/hdf5.h"
#include "maskctl/io/printable.h"

namespace maskctl {
namespace {

struct Suffix {
  std::string_view text;
  Format format;
};
constexpr std::array<Suffix, 4> kContainers = {{{".npz", Format::kNpz},
                                                {".safetensors", Format::kSafetensors},
                                                {".h5", Format::kHdf5},
                                                {".hdf5", Format::kHdf5}}};

bool exists(std::string_view path) {
  struct stat info {};
  return ::stat(std::string(path).c_str(), &info) == 0;
}

/// Where "f.npz:KEY" has its colon, or npos.
std::size_t container_colon(std::string_view text) {
  for (const Suffix& suffix : kContainers) {
    const std::size_t at = text.rfind(std::string(suffix.text) + ":");
    if (at != std::string_view::npos && at > 0) return at + suffix.text.size();
  }
  return std::string_view::npos;
}

SourceName split(std::string_view text, std::size_t colon) {
  return {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

void check_no_append(const DestName& dest, const WriteOptions& options) {
  if (!options.append) return;
  throw Error(
      Errc::kInvalidArgument,
      fmt::format("{}: arrays are added to a container; name an .npz, .safetensors or .h5 file",
                  dest.path));
}

void check_gzip(const DestName& dest, const WriteOptions& options) {
  if (options.gzip < 0 || options.gzip > 9) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("gzip level {}: expected 0 to 9", options.gzip));
  }
  if (options.gzip == 0 || dest.format == Format::kNpz || dest.format == Format::kHdf5) return;
  throw Error(
      Errc::kInvalidArgument,
      fmt::format("{}: gzip packs the arrays of an .npz or .h5; name one of these", dest.path));
}

/// Suffixes of formats that are not written: a file name must not promise a format that it does not
/// hold.
constexpr std::array<std::string_view, 22> kUnwritten = {
    ".pt",    ".pth",  ".bin", ".ckpt", ".pkl", ".pickle", ".csv",  ".tsv",
    ".txt",   ".json", ".mat", ".gz",   ".zip", ".tar",    ".gguf", ".parquet",
    ".arrow", ".zarr", ".png", ".jpg",  ".svg", ".html"};

void check_suffix(std::string_view path) {
  for (const std::string_view suffix : kUnwritten) {
    if (!path.ends_with(suffix)) continue;
    throw Error(
        Errc::kInvalidArgument,
        fmt::format("{}: no {} is written; name a .npy, .npz, .safetensors or .h5", path, suffix));
  }
}

/// "4 GiB", "931.3 GiB".
std::string size_text(Index bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024; value /= 1024) ++unit;
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

/// Free bytes on the disk of `dest`; nothing for pipes.
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

/// Refuses before the first byte: a lazy mask is small, but its dense array may fill the disk.
void check_space(const DestName& dest, DType dtype, std::span<const Index> shape, Index max_bytes) {
  const auto elements = checked_product(shape);
  const auto bytes = elements ? checked_mul(*elements, size_bytes(dtype)) : std::nullopt;
  const bool held = dest.format == Format::kNpz;
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

std::string names_of(std::span<const ArrayRef> arrays) {
  std::string out;
  for (const ArrayRef& array : arrays) out += (out.empty() ? "" : ", ") + array.name;
  return out;
}

}  // namespace

struct ArrayWriter::Impl {
  DestName dest;
  WriteOptions options;
  std::string key;
  std::optional<NpyWriter> npy;
  std::optional<SafetensorsWriter> safetensors;
  std::optional<Hdf5Writer> hdf5;
  Tensor whole;            // for formats that are not written by parts
  std::size_t filled = 0;  // bytes of `whole`
};

ArrayWriter::ArrayWriter(const std::string& dest, DType dtype, std::vector<Index> shape,
                         const WriteOptions& options, Index max_bytes,
                         const std::string& default_key)
    : impl_(std::make_unique<Impl>()) {
  impl_->dest = parse_dest_name(dest);
  impl_->options = options;
  check_gzip(impl_->dest, options);
  check_space(impl_->dest, dtype, shape, max_bytes);
  impl_->key = impl_->dest.member.empty() ? default_key : impl_->dest.member;
  if (impl_->dest.format == Format::kNpy) {
    check_no_append(impl_->dest, options);
    impl_->npy.emplace(dest, dtype, std::move(shape), options);
  } else if (impl_->dest.format == Format::kSafetensors) {
    const SafetensorsSpec spec{impl_->key, dtype, std::move(shape)};
    impl_->safetensors.emplace(impl_->dest.path, std::span(&spec, 1), options);
  } else if (impl_->dest.format == Format::kHdf5) {
    impl_->hdf5.emplace(impl_->dest.path, options);
    impl_->hdf5->begin(impl_->key, dtype, shape);
  } else {
    impl_->whole = Tensor::unwritten(dtype, std::move(shape));
  }
}

ArrayWriter::~ArrayWriter() = default;

void ArrayWriter::write(std::span<const std::byte> bytes) {
  if (impl_->npy) return impl_->npy->write(bytes);
  if (impl_->safetensors) return impl_->safetensors->write(bytes);
  if (impl_->hdf5) return impl_->hdf5->write(bytes);
  if (!bytes.empty()) {
    std::memcpy(impl_->whole.bytes().subspan(impl_->filled, bytes.size()).data(), bytes.data(),
                bytes.size());
  }
  impl_->filled += bytes.size();
}

void ArrayWriter::commit() {
  if (impl_->npy) return impl_->npy->commit();
  if (impl_->safetensors) return impl_->safetensors->commit();
  if (impl_->hdf5) return impl_->hdf5->commit();
  if (impl_->filled != impl_->whole.bytes().size()) {
    throw Error(Errc::kInvalidArgument, "fewer bytes written than the shape needs");
  }
  const ArrayRef array{impl_->key, &impl_->whole};
  write_container(impl_->dest, {&array, 1}, impl_->options);
}

SourceName parse_source_name(std::string_view text) {
  if (text == "-" || exists(text)) return {std::string(text), ""};
  if (text.starts_with("-:")) return split(text, 1);
  for (std::size_t colon = text.rfind(':'); colon != std::string_view::npos && colon > 0;
       colon = text.rfind(':', colon - 1)) {
    if (exists(text.substr(0, colon))) return split(text, colon);
  }
  const std::size_t colon = container_colon(text);
  if (colon != std::string_view::npos) return split(text, colon);
  return {std::string(text), ""};
}

Tensor read_array(const std::string& source, const ReadOptions& options,
                  std::vector<std::string>* notes) {
  const SourceName name = parse_source_name(source);
  ByteSource bytes(name.path);
  const FileType type = sniff(bytes);
  if (const auto container = open_container(bytes, type, options)) {
    std::vector<std::string> unread;
    const std::string& key = name.member.empty() ? container->only_key() : name.member;
    return container->read(key, options, notes != nullptr ? *notes : unread);
  }
  if (type != FileType::kNpy) {
    throw Error(Errc::kFormat,
                fmt::format("{}: it looks like {}{}; expected .npy, .npz, .safetensors or HDF5",
                            bytes.name(), describe(type), remedy(type)));
  }
  if (!name.member.empty()) {
    throw Error(Errc::kInvalidArgument, fmt::format("{}: a .npy file is one array; drop ':{}'",
                                                    bytes.name(), printable(name.member)));
  }
  return read_npy(std::move(bytes), options, notes);
}

DestName parse_dest_name(std::string_view text) {
  const std::size_t colon = container_colon(text);
  const std::string_view path = text.substr(0, colon);
  for (const Suffix& suffix : kContainers) {
    if (!path.ends_with(suffix.text)) continue;
    const auto member = colon == std::string_view::npos ? "" : text.substr(colon + 1);
    return {std::string(path), std::string(member), suffix.format};
  }
  check_suffix(text);
  return {std::string(text), "", Format::kNpy};
}

void write_array(const std::string& dest, const Tensor& tensor, const WriteOptions& options) {
  const DestName name = parse_dest_name(dest);
  check_gzip(name, options);
  if (name.format != Format::kNpy) {
    const ArrayRef array{name.member.empty() ? ArrayWriter::kDefaultKey : name.member, &tensor};
    return write_container(name, {&array, 1}, options);
  }
  check_no_append(name, options);
  NpyWriter writer(dest, tensor.dtype(), tensor.shape(), options);
  writer.write(tensor.bytes());
  writer.commit();
}

void write_arrays(const std::string& dest, std::span<const ArrayRef> arrays,
                  const WriteOptions& options) {
  DestName name = parse_dest_name(dest);
  if (name.format == Format::kNpy && name.path != "-") {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: an .npy holds one array, these are {} ({}); name an .npz or a "
                            ".safetensors file",
                            dest, arrays.size(), names_of(arrays)));
  }
  if (name.path == "-") name.format = Format::kNpz;
  check_gzip(name, options);
  std::vector<ArrayRef> named(arrays.begin(), arrays.end());
  for (ArrayRef& array : named) {
    if (!name.member.empty()) array.name = name.member + "/" + array.name;
  }
  write_container(name, named, options);
}

void write_npz(const std::string& dest, std::span<const NamedTensor> arrays,
               const WriteOptions& options) {
  std::vector<ArrayRef> refs;
  for (const NamedTensor& array : arrays) refs.push_back({array.name, &array.tensor});
  write_container({dest, "", Format::kNpz}, refs, options);
}

}  // namespace maskctl
