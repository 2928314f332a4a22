#include "maskctl/io/containers/container.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/io/formats/hdf5/hdf5_container.h"
#include "maskctl/io/formats/npz/npz.h"
#include "maskctl/io/formats/safetensors/safetensors.h"
#include "maskctl/io/printable.h"

namespace maskctl {
namespace {

class NpzContainer final : public Container {
 public:
  NpzContainer(ByteSource source, const ReadOptions& options)
      : archive_(std::move(source), options) {}
  const std::string& name() const override { return archive_.name(); }
  const std::vector<std::string>& keys() const override { return archive_.keys(); }
  OpenArray open(const std::string& key, const ReadOptions& options,
                 std::vector<std::string>& notes) override {
    Tensor tensor = archive_.read(key, options, &notes);
    return open_array(fmt::format("{}:{}", name(), printable(key)), std::move(tensor));
  }

 private:
  NpzArchive archive_;
};

class SafetensorsContainer final : public Container {
 public:
  SafetensorsContainer(ByteSource source, const ReadOptions& options)
      : file_(std::move(source), options) {}
  const std::string& name() const override { return file_.name(); }
  const std::vector<std::string>& keys() const override { return file_.keys(); }
  OpenArray open(const std::string& key, const ReadOptions&, std::vector<std::string>&) override {
    return open_array(file_.open(key));
  }

 private:
  SafetensorsFile file_;
};

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

const Tensor& OpenArray::load(const ReadOptions& options, std::vector<std::string>& notes) {
  if (!tensor) {
    tensor = read_npy(*reader, options, &notes);
    reader.reset();
    fortran_order = false;
  }
  return *tensor;
}

bool Container::contains(const std::string& key) const {
  return std::ranges::find(keys(), key_of(key)) != keys().end();
}

Tensor Container::read(const std::string& key, const ReadOptions& options,
                       std::vector<std::string>& notes) {
  OpenArray array = open(key, options, notes);
  array.load(options, notes);
  return std::move(*array.tensor);
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
              fmt::format("{}: {} arrays ({}); choose one: {}:{}", name(), keys().size(),
                          printable_list(keys()), text, printable(keys().front())));
}

std::unique_ptr<Container> open_container(ByteSource& source, FileType type,
                                          const ReadOptions& options) {
  if (type == FileType::kZip) {
    return std::make_unique<NpzContainer>(std::move(source), options);
  }
  if (type == FileType::kHdf5) {
    return std::make_unique<Hdf5Container>(std::move(source), options);
  }
  if (type == FileType::kSafetensors) {
    return std::make_unique<SafetensorsContainer>(std::move(source), options);
  }
  return nullptr;
}

}  // namespace maskctl
