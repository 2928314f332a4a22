// The arrays that the steps of a chain read: gives each a name, and writes them all to one file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "maskctl/io/array_io.h"
#include "maskctl/mask/steps/chain_text.h"

namespace maskctl::app {

/// Gives the arrays that chains read names as SOURCEs (chain_text.h).
class ChainArrays {
 public:
  /// `dest` is the file that write() makes. If it is "", the names look like "COMMAND.npz:ids1",
  /// and nothing is written.
  ChainArrays(std::string_view command, std::string dest);
  ChainArrays(const ChainArrays&) = delete;
  ChainArrays& operator=(const ChainArrays&) = delete;

  void name(Chain& chain) { names_.name(chain); }

  bool empty() const { return names_.arrays().empty(); }
  /// The names given so far, each as a SOURCE: "FILE:NAME", or the file itself if it is not a
  /// container.
  std::vector<std::string> sources() const;
  /// Writes the named arrays to `dest` and returns true; false without a `dest` or without arrays.
  /// Throws Error if there are several arrays and `dest` is a .npy file.
  bool write(const WriteOptions& options) const;

 private:
  bool is_single() const;
  std::string source_of(const std::string& name) const;

  std::string command_, dest_;
  ArrayNames names_;
};

}  // namespace maskctl::app
