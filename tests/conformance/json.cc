// Reads JSON into values; the only file that includes nlohmann-json, which is slow to compile.
#include <nlohmann/json.hpp>

#include "conformance/mismatch.h"
#include "conformance/value.h"

namespace conformance {
namespace {

using Json = nlohmann::ordered_json;

Value value_from(const Json& json) {
  switch (json.type()) {
    case Json::value_t::null:
      return {};
    case Json::value_t::boolean:
      return json.get<bool>();
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return json.get<std::int64_t>();
    case Json::value_t::number_float:
      return json.get<double>();
    case Json::value_t::string:
      return json.get<std::string>();
    case Json::value_t::array: {
      Value::List list;
      for (const Json& element : json) list.push_back(value_from(element));
      return list;
    }
    case Json::value_t::object: {
      Value::Dict dict;
      for (const auto& [key, element] : json.items()) dict.emplace_back(key, value_from(element));
      return dict;
    }
    default:
      throw Mismatch("JSON of an unexpected type");
  }
}

}  // namespace

Value parse_json(const std::string& text) {
  try {
    return value_from(Json::parse(text));
  } catch (const Json::exception& error) {
    throw Mismatch(error.what());
  }
}

}  // namespace conformance
