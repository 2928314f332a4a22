// What all JSON reports share. Include it only where JSON is made: nlohmann-json is slow to
// compile.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "maskctl/mask/mask.h"

namespace maskctl::app {

using Json = nlohmann::ordered_json;

/// Ended by a line feed. Bytes of a file name that are not UTF-8 become the replacement character.
inline std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

inline Json extents(const Mask& mask) {
  return Json::array({mask.batch(), mask.heads(), mask.queries(), mask.keys()});
}

inline Json ratio(Index part, Index whole) {
  if (whole == 0) return nullptr;
  return static_cast<double>(part) / static_cast<double>(whole);
}

/// [batch][head] -> number of the plane.
inline Json plane_numbers(const Mask& mask) {
  Json out = Json::array();
  for (Index b = 0; b < mask.batch(); ++b) {
    Json heads = Json::array();
    for (Index h = 0; h < mask.heads(); ++h) heads.push_back(mask.index_of(b, h));
    out.push_back(std::move(heads));
  }
  return out;
}

}  // namespace maskctl::app
