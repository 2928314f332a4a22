// A rank's part of a result, and its position in the whole result.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "maskctl/tensor/place.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

struct PlacedArray {
  Tensor part;
  std::vector<Index> shape;  // shape of the whole result
  ArrayPlace place;
  bool is_first = true;  // false: a rank with a lower number has the same part
};
using PlacedResults = std::map<std::string, PlacedArray>;

}  // namespace maskctl::attention
