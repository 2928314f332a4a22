// SOURCE and DEST texts to tensors and back.
#include "maskctl/io/array_io.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/io/printable.h"

namespace maskctl {
namespace {

constexpr std::string_view kNpz = ".npz";
constexpr const char* kDefaultKey = "arr_0";  // as np.savez names an unnamed array

bool exists(std::string_view path) {
  struct stat info {};
  return ::stat(std::string(path).c_str(), &info) == 0;
}

/// Where "f.npz:KEY" has its colon, or npos.
std::size_t npz_colon(std::string_view text) {
  const std::size_t at = text.rfind(".npz:");
  return at == std::string_view::npos || at == 0 ? std::string_view::npos : at + kNpz.size();
}

SourceName split(std::string_view text, std::size_t colon) {
  return {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

/// The key to read when none was given: the only one.
std::string only_key(const NpzArchive& archive) {
  const std::vector<std::string>& keys = archive.keys();
  if (keys.size() == 1) return keys.front();
  if (keys.empty()) {
    throw Error(Errc::kFormat, archive.name() + ": no arrays in this .npz");
  }
  const std::string text = archive.name() == "stdin" ? "-" : archive.name();
  throw Error(Errc::kInvalidArgument,
              fmt::format("{}: {} arrays ({}); choose one: {}:{}", archive.name(), keys.size(),
                          printable_list(keys), text, printable(keys.front())));
}

void write_refs(const std::string& dest, std::span<const ArrayRef> arrays,
                const WriteOptions& options) {
  ByteSink sink(dest, options, kNpz);
  write_npz_bytes([&](std::span<const std::byte> bytes) { sink.write(bytes); }, arrays);
  sink.commit();
}

}  // namespace

SourceName parse_source_name(std::string_view text) {
  if (text == "-" || exists(text)) return {std::string(text), ""};
  if (text.starts_with("-:")) return split(text, 1);
  for (std::size_t colon = text.rfind(':'); colon != std::string_view::npos && colon > 0;
       colon = text.rfind(':', colon - 1)) {
    if (exists(text.substr(0, colon))) return split(text, colon);
  }
  const std::size_t colon = npz_colon(text);
  if (colon != std::string_view::npos) return split(text, colon);
  return {std::string(text), ""};
}

Tensor read_array(const std::string& source, const ReadOptions& options,
                  std::vector<std::string>* notes) {
  const SourceName name = parse_source_name(source);
  ByteSource bytes(name.path);
  const Content content = sniff(bytes);
  if (content == Content::kZip) {
    const NpzArchive archive(std::move(bytes), options);
    return archive.read(name.member.empty() ? only_key(archive) : name.member, options, notes);
  }
  if (content != Content::kNpy) {
    throw Error(Errc::kFormat, fmt::format("{}: it looks like {}; expected .npy or .npz",
                                           bytes.name(), describe(content)));
  }
  if (!name.member.empty()) {
    throw Error(Errc::kInvalidArgument, fmt::format("{}: a .npy file is one array; drop ':{}'",
                                                    bytes.name(), printable(name.member)));
  }
  return read_npy(std::move(bytes), options, notes);
}

void write_array(const std::string& dest, const Tensor& tensor, const WriteOptions& options) {
  const std::size_t colon = npz_colon(dest);
  if (colon != std::string::npos || dest.ends_with(kNpz)) {
    const SourceName name = colon == std::string::npos ? SourceName{dest, ""} : split(dest, colon);
    const ArrayRef array{name.member.empty() ? kDefaultKey : name.member, &tensor};
    write_refs(name.path, {&array, 1}, options);
    return;
  }
  NpyWriter writer(dest, tensor.dtype(), tensor.shape(), options);
  writer.write(tensor.bytes());
  writer.commit();
}

void write_npz(const std::string& dest, std::span<const NamedTensor> arrays,
               const WriteOptions& options) {
  std::vector<ArrayRef> refs;
  for (const NamedTensor& array : arrays) refs.push_back({array.name, &array.tensor});
  write_refs(dest, refs, options);
}

}  // namespace maskctl
