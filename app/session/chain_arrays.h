// The arrays that the steps of a chain read: gives each a name, and writes them all to one file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "maskctl/io/array_io.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::app {

/// Gives names to the arrays that chains read, so that the text of a chain can refer to them as
/// SOURCEs. Equal arrays get the same name; short ones are written in the text and need none.
class ChainArrays {
 public:
  /// `dest` is the file that write() makes. If it is "", the names look like "COMMAND.npz:ids1",
  /// and nothing is written.
  ChainArrays(std::string_view command, std::string dest);

  void name(Chain& chain);

  bool empty() const { return arrays_.empty(); }
  /// The names given so far, each as a SOURCE: "FILE:NAME", or the file itself if it is not a
  /// container.
  std::vector<std::string> sources() const;
  /// Writes the named arrays to `dest` and returns true; false without a `dest` or without arrays.
  /// Throws Error if there are several arrays and `dest` is a .npy file.
  bool write(const WriteOptions& options) const;

 private:
  struct Named {
    std::string name;
    Tensor array;
  };
  /// The entry of an array. A new array gets an entry named `stem` and a number, such as "ids2".
  const Named& added(const Tensor& array, std::string_view stem);
  bool is_single() const;
  std::string source_of(const Named& array) const;

  std::string command_, dest_;
  std::vector<Named> arrays_;
};

}  // namespace maskctl::app
