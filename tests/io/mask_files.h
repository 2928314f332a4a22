// Helpers for the tests that read masks by name: files, pipes and arrays.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/scratch.h"
#include "maskctl/base/error.h"
#include "maskctl/io/formats/npy/npy.h"
#include "maskctl/io/masks/mask_io.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/tensor/convert.h"
#include "support/contains.h"
#include "support/dtypes.h"
#include "support/error_of.h"
#include "support/tensors.h"

namespace maskctl::test {

using Cells = std::vector<std::uint8_t>;
using Int64s = std::vector<std::int64_t>;

using Folder = Scratch;  // a temporary folder for one test

inline Cells random_cells(Index n, unsigned seed, double density = 0.5) {
  std::mt19937 random(seed);
  std::bernoulli_distribution open(density);
  Cells out(static_cast<std::size_t>(n));
  for (auto& cell : out) cell = open(random);
  return out;
}

inline Tensor bool_tensor(std::vector<Index> shape, const Cells& cells) {
  return tensor_of(DType::kBool, std::move(shape), cells);
}

inline Tensor int_tensor(std::vector<Index> shape, const Int64s& values,
                         DType dtype = DType::kInt64) {
  return astype(tensor_of(DType::kInt64, std::move(shape), values), dtype);
}

inline Cells cells_of(const Mask& mask) {
  const Tensor dense = dense_from_mask(mask, Index{1} << 30);
  const auto bytes = dense.as<std::uint8_t>();
  return {bytes.begin(), bytes.end()};
}

/// Saves a tensor in C order as a .npy as numpy does, in the given order of axes and bytes.
inline void save(const std::string& path, const Tensor& tensor, bool fortran, bool big_endian) {
  std::string text;
  for (std::byte b : npy_header_bytes(tensor.dtype(), tensor.shape(), fortran)) {
    text += static_cast<char>(b);
  }
  if (big_endian) std::replace(text.begin() + 10, text.end(), '<', '>');
  const auto size = static_cast<std::size_t>(size_bytes(tensor.dtype()));
  const auto& shape = tensor.shape();
  std::vector<Index> at(shape.size());
  for (Index n = 0; n < tensor.elements(); ++n) {
    Index c_order = n;
    if (fortran) {
      Index rest = n;
      for (std::size_t i = 0; i < shape.size(); ++i) at[i] = rest % shape[i], rest /= shape[i];
      c_order = 0;
      for (std::size_t i = 0; i < shape.size(); ++i) c_order = c_order * shape[i] + at[i];
    }
    std::string element(reinterpret_cast<const char*>(tensor.bytes().data()) +
                            static_cast<std::size_t>(c_order) * size,
                        size);
    if (big_endian) std::reverse(element.begin(), element.end());
    text += element;
  }
  std::ofstream(path, std::ios::binary) << text;
}

/// A FIFO that a thread fills with the bytes of a file, in small writes. With `limit` it gets only
/// so many bytes, and stays open without more until the end of the test.
class Fifo {
 public:
  Fifo(const Folder& folder, const std::string& file, std::size_t limit = std::string::npos)
      : path(folder / "fifo") {
    signal(SIGPIPE, SIG_IGN);
    if (mkfifo(path.c_str(), 0600) != 0) throw std::runtime_error("no fifo");
    writer_ = std::thread([this, bytes = slurp(file).substr(0, limit), limit] {
      const int fd = open(path.c_str(), O_WRONLY);
      for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t n = std::min<std::size_t>(bytes.size() - at, 1000 + at % 77777);
        const ssize_t written = write(fd, bytes.data() + at, n);
        if (written < 0) break;
        at += static_cast<std::size_t>(written);
      }
      if (limit != std::string::npos) done_.wait(false);
      close(fd);
    });
  }
  ~Fifo() {
    done_ = true;
    done_.notify_all();
    writer_.join();
    unlink(path.c_str());
  }
  const std::string path;

 private:
  std::atomic<bool> done_{false};
  std::thread writer_;
};

inline std::string error_of(const std::string& source, const MaskReadOptions& options = {}) {
  return error_of([&] { read_mask(source, options); });
}

inline MaskReadOptions as(ArrayKind kind) {
  MaskReadOptions options;
  options.as = kind;
  return options;
}

}  // namespace maskctl::test
