// Files that hold several named arrays, behind one class.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/io/formats/npy/npy.h"
#include "maskctl/io/streams/byte_source.h"
#include "maskctl/io/streams/options.h"
#include "maskctl/tensor/tensor.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl {

/// An array whose header has been read. If the data can be read by parts, `reader` reads it; if
/// somebody holds it in memory, `view` says where; otherwise it is in `tensor`.
struct OpenArray {
  std::string name;  // for messages
  DType dtype = DType::kBool;
  std::vector<Index> shape;
  bool fortran_order = false;
  std::shared_ptr<NpyReader> reader;
  std::optional<TensorView> view;
  std::optional<Tensor> tensor;

  /// The array in memory; read at the first call.
  const Tensor& load(const ReadOptions& options, std::vector<std::string>& notes);
};

OpenArray open_array(std::shared_ptr<NpyReader> reader);
OpenArray open_array(std::string name, Tensor tensor);
/// Throws Error(kUnsupported) for memory of a device.
OpenArray open_array(std::string name, const TensorView& view);

/// What the headers of a file say, also about arrays that cannot be read.
struct ContainerOutline {
  struct Array {
    std::string name;   // without control characters
    std::string dtype;  // "bool"; what the file says for types that cannot be read: "<c8"
    std::vector<Index> shape;
  };
  std::vector<Array> arrays;
  std::vector<std::string> notes;            // attributes, a line each
  std::vector<std::string> unreadable = {};  // objects that cannot be opened and why, a line each
};

/// The named arrays of a file, an archive or a pipe.
class Container {
 public:
  virtual ~Container() = default;
  virtual const std::string& name() const = 0;
  /// In the order of the file. From a pipe, arrays may have to be opened in this order, each read
  /// before the next is opened.
  virtual const std::vector<std::string>& keys() const = 0;
  /// Throws Error(kInvalidArgument) for an unknown key, with the list of keys.
  virtual OpenArray open(const std::string& key, const ReadOptions& options,
                         std::vector<std::string>& notes) = 0;
  /// Reads headers only. Not to be mixed with open(): a pipe is read once.
  virtual ContainerOutline outline() = 0;

  /// True for a file of one array, whose key is "".
  virtual bool holds_one_array() const { return false; }
  /// The key meant by the text after the colon, for formats in which a key has several spellings.
  virtual std::string key_of(const std::string& text) const { return text; }
  virtual bool contains(const std::string& key) const;
  Tensor read(const std::string& key, const ReadOptions& options, std::vector<std::string>& notes);
  /// The arrays of these keys, read in the order of the file and returned in the requested order.
  std::vector<Tensor> read(const std::vector<std::string>& wanted, const ReadOptions& options,
                           std::vector<std::string>& notes);
  /// The key of the only array. Throws Error with the list of keys when there are several.
  virtual const std::string& only_key() const;
};

/// Opens `source` as its content says, whatever its name. Throws Error(kFormat), with what it looks
/// like, when it holds no arrays that can be read.
std::unique_ptr<Container> open_container(ByteSource source, const ReadOptions& options);
/// open_container() of a path or "-"; a folder that save_pretrained wrote means its
/// model.safetensors.
std::unique_ptr<Container> open_container(const std::string& path, const ReadOptions& options);

}  // namespace maskctl
