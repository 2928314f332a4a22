#include "maskctl/io/formats/container.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/io/formats/formats.h"
#include "maskctl/io/formats/pretrained.h"
#include "maskctl/tensor/lines.h"

namespace maskctl {
namespace {

void check_limit(const TensorView& array, const std::string& source, Index max_bytes) {
  if (array.elements() <= max_bytes / size_bytes(array.dtype())) return;
  throw Error(Errc::kLimit,
              fmt::format("{}: a copy of the array {} of {} exceeds the limit of {} bytes", source,
                          shape_text(array.shape()), name(array.dtype()), max_bytes),
              {{Remedy::kRaiseMemoryLimit}});
}

}  // namespace

OpenArray open_array(std::shared_ptr<NpyReader> reader) {
  OpenArray out;
  out.name = reader->name();
  out.dtype = reader->header().dtype;
  out.shape = reader->header().shape;
  out.fortran_order = reader->header().fortran_order;
  out.reader = std::move(reader);
  return out;
}

OpenArray open_array(std::string name, Tensor tensor) {
  OpenArray out;
  out.name = std::move(name);
  out.dtype = tensor.dtype();
  out.shape = tensor.shape();
  out.tensor = std::move(tensor);
  return out;
}

OpenArray open_array(std::string name, const TensorView& view) {
  if (view.place().space != MemorySpace::kHost) {
    throw Error(Errc::kUnsupported,
                fmt::format("{}: memory of a device; expected memory of the host", name));
  }
  OpenArray out;
  out.name = std::move(name);
  out.dtype = view.dtype();
  out.shape.assign(view.shape().begin(), view.shape().end());
  out.fortran_order = view.rank() == 2 && !view.is_contiguous() && view.stride(0) == 1;
  out.view = view;
  return out;
}

const Tensor& OpenArray::load(const ReadOptions& options, std::vector<std::string>& notes) {
  if (view && !tensor) {
    check_limit(*view, name, options.max_bytes);
    tensor = copy_of(*view);
    fortran_order = false;
  }
  if (!tensor) {
    tensor = read_npy(*reader, options, &notes);
    reader.reset();
    fortran_order = false;
  }
  return *tensor;
}

Tensor OpenArray::take(const ReadOptions& options, std::vector<std::string>& notes) {
  load(options, notes);
  return std::move(*tensor);
}

bool Container::contains(const std::string& key) const {
  return std::ranges::find(keys(), key_of(key)) != keys().end();
}

Tensor Container::read(const std::string& key, const ReadOptions& options,
                       std::vector<std::string>& notes) {
  return open(key, options, notes).take(options, notes);
}

std::vector<Tensor> Container::read(const std::vector<std::string>& wanted,
                                    const ReadOptions& options, std::vector<std::string>& notes) {
  std::vector<Tensor> out(wanted.size());
  for (const std::string& key : keys()) {
    const auto at = std::ranges::find_if(
        wanted, [&](const std::string& asked) { return key_of(asked) == key; });
    if (at != wanted.end()) {
      out[static_cast<std::size_t>(at - wanted.begin())] = read(key, options, notes);
    }
  }
  return out;
}

const std::string& Container::only_key() const {
  if (keys().size() == 1) return keys().front();
  if (keys().empty()) throw Error(Errc::kFormat, name() + ": holds no arrays");
  const std::string text = name() == "stdin" ? "-" : name();
  throw Error(Errc::kInvalidArgument,
              fmt::format("{}: {} arrays ({}), named as {}:{}", name(), keys().size(),
                          printable_list(keys()), text, printable(keys().front())),
              {{Remedy::kChooseArray}});
}

std::unique_ptr<Container> open_container(ByteSource source, const ReadOptions& options) {
  const FileLook look = look_at(source);
  if (look.format) return look.format->open(std::move(source), options);
  throw Error(Errc::kFormat,
              fmt::format("{}: it looks like {}{}; expected {}", source.name(), look.description,
                          look.remedy, formats_text([](const auto& row) { return row.name; })));
}

std::unique_ptr<Container> open_container(const std::string& path, const ReadOptions& options) {
  return open_container(ByteSource(in_pretrained(path, "model.safetensors")), options);
}

}  // namespace maskctl
