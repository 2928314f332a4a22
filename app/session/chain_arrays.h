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
  /// Writes the arrays if a file was given; false if not, or if there are none. The chains must not
  /// have moved since they were named. Throws Error for several arrays and a .npy file.
  bool write(const WriteOptions& options) const;

 private:
  void add(NamedArray& array, const char* kind);
  bool is_single() const;
  std::string source_of(const ArrayRef& array) const;

  std::string command_, dest_;
  std::vector<ArrayRef> arrays_;
};

}  // namespace maskctl::app
