// The common interface of files that hold named arrays.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "maskctl/io/formats/npy/npy.h"
#include "maskctl/io/streams/byte_source.h"
#include "maskctl/io/streams/options.h"
#include "maskctl/tensor/tensor.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl {

/// An array whose header has been read. Its data is in one of three places: `reader` reads it by
/// parts; `view` refers to memory that somebody else owns; or `tensor` holds it.
struct OpenArray {
  std::string name;  // for messages
  DType dtype = DType::kBool;
  std::vector<Index> shape;
  bool fortran_order = false;
  std::shared_ptr<NpyReader> reader;
  std::optional<TensorView> view;
  std::optional<Tensor> tensor;

  /// The whole array in memory; reads it at the first call.
  const Tensor& load(const ReadOptions& options, std::vector<std::string>& notes);
  /// The whole array, for a caller that changes or keeps it; it can be read once.
  Tensor take(const ReadOptions& options, std::vector<std::string>& notes);
};

OpenArray open_array(std::shared_ptr<NpyReader> reader);
OpenArray open_array(std::string name, Tensor tensor);
/// Wraps an array in host memory. Throws Error(kUnsupported) for device memory.
OpenArray open_array(std::string name, const TensorView& view);

/// What the headers of a file say, including arrays that cannot be read.
struct ContainerOutline {
  struct Array {
    std::string name;   // made printable: no control characters
    std::string dtype;  // "bool"; for types that cannot be read, the name in the file: "<c8"
    std::vector<Index> shape;
  };
  std::vector<Array> arrays;
  std::vector<std::string> notes;            // attributes, one per line
  std::vector<std::string> unreadable = {};  // objects that cannot be opened, and why, one per line
};

/// A text beside the arrays of a file, with its key.
using Metadata = std::pair<std::string, std::string>;

/// The named arrays of a file, an archive or a pipe.
class Container {
 public:
  virtual ~Container() = default;
  virtual const std::string& name() const = 0;
  /// The names of the arrays, in the order of the file. Arrays of a pipe may have to be opened in
  /// this order, and each must be read before the next is opened.
  virtual const std::vector<std::string>& keys() const = 0;
  /// Opens an array. Throws Error(kInvalidArgument) that lists the keys if there is none of this
  /// name.
  virtual OpenArray open(const std::string& key, const ReadOptions& options,
                         std::vector<std::string>& notes) = 0;
  /// Reads all headers. Call either this or open(), because a pipe can be read only once.
  virtual ContainerOutline outline() = 0;

  /// The texts beside the arrays; only safetensors has them.
  virtual std::span<const Metadata> metadata() const { return {}; }
  /// True for a format whose files hold one array without a name; its key is "".
  virtual bool holds_one_array() const { return false; }
  /// The key that a text after the colon of a SOURCE means, for formats in which a key can be
  /// written in several ways.
  virtual std::string key_of(const std::string& text) const { return text; }
  virtual bool contains(const std::string& key) const;
  Tensor read(const std::string& key, const ReadOptions& options, std::vector<std::string>& notes);
  /// Reads the arrays of these keys in the order of the file; returns them in the order of
  /// `wanted`.
  std::vector<Tensor> read(const std::vector<std::string>& wanted, const ReadOptions& options,
                           std::vector<std::string>& notes);
  /// The key of the only array. Throws Error that lists the keys if there are several arrays.
  virtual const std::string& only_key() const;
};

/// Opens `source` in the format of its content, whatever its name. Throws Error(kFormat), which
/// says what the content looks like, if it holds no arrays that can be read.
std::unique_ptr<Container> open_container(ByteSource source, const ReadOptions& options);
/// open_container() for a path or "-". A folder written by save_pretrained stands for its
/// model.safetensors.
std::unique_ptr<Container> open_container(const std::string& path, const ReadOptions& options);

}  // namespace maskctl
