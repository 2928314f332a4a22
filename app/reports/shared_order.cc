#include "app/reports/shared_order.h"

#include <fmt/format.h>

namespace maskctl::app {
namespace {

std::string ratio_of(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.2f}", *ratio) : "-";
}

}  // namespace

std::string shared_text(const std::vector<SharedOrder>& orders) {
  if (orders.empty()) return "";
  std::string out = fmt::format("\n{:<12}", "one order");
  for (std::size_t i = 0; i < orders.front().each.size(); ++i) {
    out += fmt::format("{:>12}", fmt::format("mask {}", i + 1));
  }
  out += fmt::format("{:>12}\n", "all layers");
  for (const SharedOrder& order : orders) {
    out += fmt::format("  {:<10}", name(order.split));
    for (const auto& each : order.each) out += fmt::format("{:>12}", ratio_of(each));
    out += fmt::format("{:>12}\n", ratio_of(order.all));
  }
  if (orders.front().all) {
    out += fmt::format("best: {}, in which layers wait least for their busiest rank\n",
                       name(orders.front().split));
  }
  return out;
}

Json shared_json(const std::vector<SharedOrder>& orders) {
  if (orders.empty()) return nullptr;
  Json out = Json::array();
  const auto number = [](const std::optional<double>& one) {
    return one ? Json(*one) : Json(nullptr);
  };
  for (const SharedOrder& order : orders) {
    Json each = Json::array();
    for (const auto& one : order.each) each.push_back(number(one));
    out.push_back({{"split", name(order.split)}, {"each", each}, {"all", number(order.all)}});
  }
  return out;
}

}  // namespace maskctl::app
