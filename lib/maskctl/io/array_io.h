// Arrays by name: SOURCE and DEST texts of the command to tensors and back.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/io/byte_source.h"
#include "maskctl/io/npy.h"
#include "maskctl/io/npz.h"
#include "maskctl/io/read_options.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

struct SourceName {
  std::string path;    // "-" is standard input
  std::string member;  // the key after the colon; empty when none was given
};

/// Splits "f.npz:KEY". An existing file of the whole name wins; else the longest existing file
/// before a colon; else the text up to ".npz". "-:KEY" is an array of an .npz on standard input.
SourceName parse_source_name(std::string_view text);

/// Reads "a.npy", "m.npz:KEY", "m.npz" with one array, or "-". The content decides, not the
/// suffix. Notes (spare bytes) are appended to `notes`. Throws Error; its message starts with the
/// name once: "m.npz: 3 arrays (mask, seg, lens); choose one: m.npz:mask".
Tensor read_array(const std::string& source, const ReadOptions& options = {},
                  std::vector<std::string>* notes = nullptr);

struct WriteOptions {
  bool force = false;  // replace an existing file
};

/// Where an array or text goes: a file that appears whole or not at all, or standard output ("-").
class ByteSink {
 public:
  /// `kind` (".npy") names the data when it is refused: "refusing to write .npy to a terminal; use
  /// -o FILE or pipe it". An empty kind is text and may go to a terminal.
  ByteSink(const std::string& dest, const WriteOptions& options, std::string_view kind);
  ~ByteSink();
  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Makes the file visible under its name. Without it the destructor leaves nothing behind.
  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A .npy written by parts, for arrays that are never held whole.
class NpyWriter {
 public:
  NpyWriter(const std::string& dest, DType dtype, std::vector<Index> shape,
            const WriteOptions& options = {});
  /// The next elements in C order, native byte order.
  void write(std::span<const std::byte> bytes);
  /// Throws Error(kInvalidArgument) when more or fewer bytes than the shape needs were written.
  void commit();

 private:
  ByteSink sink_;
  Index remaining_;
};

/// Writes "a.npy" (and any other suffix), "m.npz" (key "arr_0"), "m.npz:KEY", or "-" (.npy).
void write_array(const std::string& dest, const Tensor& tensor, const WriteOptions& options = {});

/// Writes all arrays into one .npz at `dest`, a path or "-".
void write_npz(const std::string& dest, std::span<const NamedTensor> arrays,
               const WriteOptions& options = {});

}  // namespace maskctl
