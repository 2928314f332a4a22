// The arrays that chains read: named as members of one container, and written to it on request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "maskctl/io/array_io.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::app {

/// Names the arrays that have no name yet so that chains can be printed. Equal arrays get one name.
class ChainArrays {
 public:
  /// `dest` is the file to write; with "" the names say that the arrays are not written.
  ChainArrays(std::string_view command, std::string dest);

  void name(Chain& chain);

  bool empty() const { return arrays_.empty(); }
  /// One SOURCE per array.
  std::vector<std::string> sources() const;
  /// Writes the arrays if a file was given; false if not, or if there are none. Throws Error for
  /// several arrays and a .npy file.
  bool write(const WriteOptions& options) const;

 private:
  struct Named {
    std::string name;
    Tensor array;
  };
  /// The array among those that are named; a new one is called by the stem and a number.
  const Named& added(const Tensor& array, std::string_view stem);
  bool is_single() const;
  std::string source_of(const Named& array) const;

  std::string command_, dest_;
  std::vector<Named> arrays_;
};

}  // namespace maskctl::app
