// Attributes that a new dataset takes over from the one that it replaces.
#pragma once

#include <hdf5.h>

#include <string>
#include <vector>

#include "app/hdf5/library.h"

namespace maskctl::hdf5 {

/// An attribute in memory, as it is in the file: text of any length and references too.
struct Attribute {
  std::string name;
  Handle type, space;
  std::vector<char> value;

  void write(hid_t object) const;
};

/// The attributes of an object. Text of any length is in memory of the library, which ends with
/// this program.
std::vector<Attribute> attributes_of(hid_t object);

}  // namespace maskctl::hdf5
