// Reads the arrays of an .npz.
#include "maskctl/io/formats/npz/npz.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/io/formats/formats.h"
#include "maskctl/io/formats/npz/zip.h"

namespace maskctl {
namespace {

constexpr std::string_view kSuffix = ".npy";

/// Reads a pipe to its end. Memory grows in steps with the bytes that arrive.
std::vector<std::byte> read_whole(ByteSource& source, Index max_bytes) {
  constexpr std::size_t kStep = std::size_t{1} << 20;
  std::vector<std::byte> bytes;
  for (;;) {
    const std::size_t held = bytes.size();
    bytes.resize(held + std::max(kStep, held / 2));
    const Index got = source.read(std::span(bytes).subspan(held));
    bytes.resize(held + static_cast<std::size_t>(got));
    if (static_cast<Index>(bytes.size()) > max_bytes) {
      throw Error(
          Errc::kLimit,
          fmt::format("{}: an .npz on a pipe is held whole and exceeds the limit of {} bytes",
                      source.name(), max_bytes),
          {{Remedy::kRaiseMemoryLimit}, {Remedy::kReadFromFile}});
    }
    if (got == 0) return bytes;
  }
}

}  // namespace

struct NpzArchive::Impl {
  std::vector<std::byte> held;  // content of a pipe; `source` refers to it
  ByteSource source;
  std::vector<ZipMember> members;
  std::vector<std::string> keys;  // keys[i] is the key of members[i]
  std::unordered_map<std::string, std::size_t> places;

  Impl(ByteSource from, const ReadOptions& options) : source(std::move(from)) {
    if (!source.seekable()) {
      held = read_whole(source, options.max_bytes);
      source = ByteSource::from_memory(source.name(), held);
    }
    if (const FileLook look = look_at(source); look.format != &kNpzFormat) {
      throw Error(Errc::kFormat, fmt::format("{}: not an .npz file; it looks like {}",
                                             source.name(), look.description));
    }
    for (ZipMember& member : read_zip_directory(source)) {
      check_not_torch(member.name);
      if (!member.name.ends_with(kSuffix)) continue;
      keys.push_back(member.name.substr(0, member.name.size() - kSuffix.size()));
      places.emplace(keys.back(), members.size());
      members.push_back(std::move(member));
    }
  }

  void check_not_torch(std::string_view member) const {
    if (!member.ends_with("/data.pkl")) return;
    throw Error(Errc::kUnsupported,
                fmt::format("{}: a PyTorch file (torch.save), which holds a pickle and is never "
                            "executed; in Python, np.save(\"m.npy\", tensor.numpy()) (of bf16 "
                            "tensor.float()) or safetensors.torch.save_file writes its tensors",
                            source.name()));
  }

  const ZipMember& find(const std::string& key) const {
    const auto at = places.find(key);
    if (at != places.end()) return members[at->second];
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: no array '{}'; it has {}", source.name(), printable(key),
                            keys.empty() ? "none" : printable_list(keys)));
  }

  /// Opens a member and reads its .npy header. The size that the archive declares must be exactly
  /// what the header needs.
  NpyReader open(const std::string& key, const ReadOptions& options) const {
    const ZipMember& member = find(key);
    const std::string label = source.name() + ":" + printable(key);
    ReadOptions exact = options;
    exact.strict = true;
    return NpyReader(ByteSource(label, open_zip_member(source, member, label), member.bytes),
                     exact);
  }
};

NpzArchive::NpzArchive(ByteSource source, const ReadOptions& options)
    : impl_(std::make_unique<Impl>(std::move(source), options)) {}
NpzArchive::NpzArchive(NpzArchive&&) noexcept = default;
NpzArchive& NpzArchive::operator=(NpzArchive&&) noexcept = default;
NpzArchive::~NpzArchive() = default;

const std::string& NpzArchive::name() const { return impl_->source.name(); }
const std::vector<std::string>& NpzArchive::keys() const { return impl_->keys; }

bool NpzArchive::contains(const std::string& key) const { return impl_->places.contains(key); }

Tensor NpzArchive::read(const std::string& key, const ReadOptions& options,
                        std::vector<std::string>* notes) const {
  NpyReader reader = impl_->open(key, options);
  return read_npy(reader, options, notes);
}

NpyOutline NpzArchive::outline(const std::string& key) const {
  const std::string label = name() + ":" + printable(key);
  const ZipMember& member = impl_->find(key);
  ByteSource bytes(label, open_zip_member(impl_->source, member, label), member.bytes);
  return read_npy_outline(bytes);
}

}  // namespace maskctl
