#include "app/reports/json_value.h"

#include <algorithm>

namespace maskctl::app {
namespace {

bool is_member(const Json& pair) {
  const Json::Items* items = pair.items();
  return items && items->size() == 2 && std::holds_alternative<std::string>(items->front().value());
}

}  // namespace

Json::Json(std::nullptr_t) {}
Json::Json(bool value) : value_(value) {}
Json::Json(std::int64_t value) : value_(value) {}
Json::Json(double value) : value_(value) {}
Json::Json(std::string_view text) : value_(std::string(text)) {}
Json::Json(Items items) : value_(std::move(items)) {}
Json::Json(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

Json::Json(std::initializer_list<Json> list) {
  if (!std::ranges::all_of(list, is_member)) {
    value_ = Items(list);
    return;
  }
  auto& members = value_.emplace<Members>();
  for (const Json& pair : list) {
    members.push_back({std::get<std::string>(pair.items()->front().value()), pair.items()->back()});
  }
}

Json Json::array(std::initializer_list<Json> items) { return Items(items); }

Json Json::object() {
  Json out;
  out.value_.emplace<Members>();
  return out;
}

Json& Json::operator[](std::string_view key) {
  if (!members()) value_.emplace<Members>();
  auto& members = std::get<Members>(value_);
  const auto found = std::ranges::find(members, key, &Member::key);
  return found != members.end() ? found->value
                                : members.emplace_back(Member{std::string(key), {}}).value;
}

void Json::push_back(Json item) {
  if (!items()) value_.emplace<Items>();
  std::get<Items>(value_).push_back(std::move(item));
}

const Json::Items* Json::items() const { return std::get_if<Items>(&value_); }
const Json::Members* Json::members() const { return std::get_if<Members>(&value_); }

}  // namespace maskctl::app
