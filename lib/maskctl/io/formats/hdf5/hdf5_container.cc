#include "maskctl/io/formats/hdf5/hdf5_container.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "maskctl/base/atomic_file.h"
#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/io/formats/hdf5/hdf5_protocol.h"
#include "maskctl/io/formats/npy/npy_descr.h"

namespace maskctl {
namespace {

constexpr std::size_t kMaxListing = 256 << 20;  // bytes: attributes may be long texts
constexpr std::size_t kMaxRank = 8;

OwnedFd copy_to_memory(ByteSource& source, Index max_bytes) {
  OwnedFd memory(::memfd_create("hdf5", MFD_CLOEXEC));
  std::vector<std::byte> part(std::size_t{1} << 20);
  Index total = 0;
  while (const Index got = source.read(part)) {
    total += got;
    if (total > max_bytes) {
      throw Error(Errc::kLimit,
                  fmt::format("{}: more than {} bytes; HDF5 from a pipe is held in memory",
                              source.name(), max_bytes),
                  {{Remedy::kRaiseMemoryLimit}, {Remedy::kReadFromFile}});
    }
    write_all(memory.get(), std::span(part).first(static_cast<std::size_t>(got)), source.name());
  }
  return memory;
}

[[noreturn]] void fail_protocol(const std::string& name) {
  throw Error(Errc::kFormat, fmt::format("{}: unexpected answer of the HDF5 program", name));
}

/// A number in the helper's output. It is checked, because a malicious file may have taken over the
/// helper.
Index number(std::string_view text, const std::string& name) {
  const auto value = number_from<Index>(text);
  if (!value || *value < 0) fail_protocol(name);
  return *value;
}

std::vector<Index> shape_from(std::string_view text, const std::string& name) {
  std::vector<Index> out;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    out.push_back(number(text.substr(0, comma), name));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return out;
}

std::vector<std::string> read_line(Hdf5Process& process, const std::string& name) {
  const auto line = process.read_line();
  if (!line) fail_protocol(name);
  return hdf5_protocol::fields(*line);
}

std::vector<std::string> datasets_from(std::vector<std::string> fields, const std::string& name) {
  if (fields[0] != "datasets") fail_protocol(name);
  fields.erase(fields.begin());
  return fields;
}

NpyHeader header_from(const std::vector<std::string>& fields, const std::string& name) {
  NpyHeader out;
  out.shape = shape_from(fields[3], name);
  try {
    const NpyElement element = parse_npy_descr(fields[2]);
    out.dtype = element.dtype;
    out.big_endian = element.big_endian;
  } catch (const Error& error) {
    throw error.within(name);
  }
  const auto elements = checked_product(out.shape);
  const auto bytes = elements ? checked_mul(*elements, size_bytes(out.dtype)) : std::nullopt;
  if (!bytes || out.shape.size() > kMaxRank) fail_protocol(name);
  out.data_bytes = *bytes;
  return out;
}

/// The elements of a dataset as a stream from the helper.
class HelperStream final : public ByteStream {
 public:
  explicit HelperStream(std::unique_ptr<Hdf5Process> process) : process_(std::move(process)) {}
  Index read(std::span<std::byte> out) override { return process_->read(out); }

 private:
  std::unique_ptr<Hdf5Process> process_;
};

void add_line(const std::vector<std::string>& fields, const std::string& name, Hdf5Listing& out) {
  const std::string& kind = fields[0];
  if (kind == "group" && fields.size() == 2) {
    out.groups.push_back(fields[1]);
  } else if (kind == "link" && fields.size() == 3) {
    out.links.push_back(fields[1]);
  } else if (kind == "unreadable" && fields.size() == 3) {
    out.unreadable.push_back({fields[1], fields[2]});
  } else if (kind == "attribute" && fields.size() == 4) {
    out.attributes.push_back({fields[1], fields[2], fields[3]});
  } else if (kind == "dataset" && fields.size() >= 5) {
    Hdf5Dataset dataset{fields[1], fields[2], std::nullopt, fields[4], {}};
    if (fields[3] != "null") dataset.shape = shape_from(fields[3], name);
    dataset.filters.assign(fields.begin() + 5, fields.end());
    out.datasets.push_back(std::move(dataset));
  } else {
    fail_protocol(name);
  }
}

}  // namespace

Hdf5Container::Hdf5Container(ByteSource source, const ReadOptions& options)
    : name_(source.name()), path_(source.name()), options_(options) {
  if (source.seekable() && name_ != "stdin") return;
  memory_ = copy_to_memory(source, options_.max_bytes);
  path_ = fmt::format("/proc/self/fd/{}", memory_.get());
}

Hdf5Process::Plan Hdf5Container::plan(std::vector<std::string> words,
                                      const std::string& label) const {
  Hdf5Process::Plan out;
  out.name = label;
  out.words = std::move(words);
  out.words.insert(out.words.begin() + 1, memory_.get() < 0 ? path_ : "/dev/stdin");
  out.max_bytes = std::max<Index>(1, options_.max_bytes);
  out.input = memory_.get();
  return out;
}

std::string Hdf5Container::path_of(std::string_view key) {
  if (key.starts_with(':')) key.remove_prefix(1);
  while (key.size() > 1 && key.ends_with('/')) key.remove_suffix(1);
  return key.starts_with('/') ? std::string(key) : "/" + std::string(key);
}

std::shared_ptr<NpyReader> Hdf5Container::reader(const std::string& key) const {
  std::vector<std::string> words{"read"};
  if (!key.empty()) words.push_back(path_of(key));
  const auto label = [&](const std::string& path) { return name_ + ":" + printable(path); };
  const std::string asked = key.empty() ? name_ : label(words[1]);
  auto process = std::make_unique<Hdf5Process>(plan(words, asked));
  if (key.empty()) keys_ = datasets_from(read_line(*process, asked), asked);
  const auto head = read_line(*process, asked);
  if (head.size() != 4 || head[0] != "array") fail_protocol(asked);
  const auto where = read_line(*process, asked);
  const std::string name = label(head[1]);
  NpyHeader header = header_from(head, name);
  if (where[0] != "at" || where.size() != 2) {
    auto source =
        std::make_shared<ByteSource>(name, std::make_unique<HelperStream>(std::move(process)));
    return std::make_shared<NpyReader>(std::move(source), 0, name, std::move(header));
  }
  process->finish();
  auto source = std::make_shared<ByteSource>(path_);
  const Index start = number(where[1], name);
  const auto end = checked_add(start, header.data_bytes);
  if (!end || !source->size() || *end > *source->size()) {
    throw Error(Errc::kFormat,
                fmt::format("{}: its data extends beyond the end of the file", name));
  }
  return std::make_shared<NpyReader>(std::move(source), start, name, std::move(header));
}

OpenArray Hdf5Container::open(const std::string& key, const ReadOptions&,
                              std::vector<std::string>&) {
  if (reader_ && opened_ == key) return open_array(std::exchange(reader_, nullptr));
  if (key.empty() && no_choice_) throw *no_choice_;
  return open_array(reader(key));
}

ContainerOutline Hdf5Container::outline() {
  constexpr std::size_t kLongestReason = 400;
  ContainerOutline out;
  for (const Hdf5Dataset& dataset : listing().datasets) {
    out.arrays.push_back({printable(dataset.path), dtype_text(dataset.dtype),
                          dataset.shape.value_or(std::vector<Index>())});
  }
  for (const auto& [path, reason] : listing().unreadable) {
    out.unreadable.push_back(printable(fmt::format("{}: {}", path, reason), kLongestReason));
  }
  for (const auto& [object, name, value] : listing().attributes) {
    out.notes.push_back(printable(fmt::format("{} @{} = {}", object, name, value)));
  }
  return out;
}

const Hdf5Listing& Hdf5Container::listing() const {
  if (listing_) return *listing_;
  Hdf5Process process(plan({"list"}, name_));
  std::string text;
  std::vector<std::byte> part(std::size_t{64} << 10);
  while (const Index got = process.read(part)) {
    text.append(reinterpret_cast<const char*>(part.data()), static_cast<std::size_t>(got));
    if (text.size() > kMaxListing) {
      throw Error(Errc::kLimit, fmt::format("{}: its names and attributes take more than {} bytes",
                                            name_, kMaxListing));
    }
  }
  Hdf5Listing out;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t newline = rest.find('\n');
    if (newline == std::string_view::npos) fail_protocol(name_);
    add_line(hdf5_protocol::fields(rest.substr(0, newline)), name_, out);
    rest.remove_prefix(newline + 1);
  }
  listing_ = std::move(out);
  return *listing_;
}

const std::vector<std::string>& Hdf5Container::keys() const {
  if (keys_) return *keys_;
  try {
    reader_ = reader("");
    opened_ = "";
  } catch (const Error& error) {
    if (!keys_) throw;
    no_choice_ = error;
  }
  return *keys_;
}

bool Hdf5Container::contains(const std::string& key) const {
  if (keys_ || (!key.starts_with('/') && !key.starts_with(":/"))) {
    return Container::contains(key);
  }
  try {
    reader_ = reader(key);
    opened_ = key;
    return true;
  } catch (const Error& error) {
    if (error.code() != Errc::kInvalidArgument) throw;
    return false;  // no such name, or the name of a group
  }
}

const std::string& Hdf5Container::only_key() const {
  static const std::string kAny;
  return kAny;
}

const Hdf5Dataset* Hdf5Listing::find(std::string_view path) const {
  const auto at = std::ranges::find(datasets, path, &Hdf5Dataset::path);
  return at == datasets.end() ? nullptr : &*at;
}

std::optional<std::string> Hdf5Listing::attribute(std::string_view object,
                                                  std::string_view name) const {
  for (const Hdf5Attribute& attribute : attributes) {
    if (attribute.object == object && attribute.name == name) return attribute.value;
  }
  return std::nullopt;
}

Hdf5Listing list_hdf5(ByteSource source, const ReadOptions& options) {
  return Hdf5Container(std::move(source), options).listing();
}

std::shared_ptr<NpyReader> open_hdf5(ByteSource source, const std::string& dataset,
                                     const ReadOptions& options) {
  return Hdf5Container(std::move(source), options).reader(dataset);
}

}  // namespace maskctl
