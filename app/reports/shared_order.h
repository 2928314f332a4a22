// The orders of tokens that several masks share, as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "app/reports/json_value.h"
#include "maskctl/phases/shared_order.h"

namespace maskctl::app {

/// Empty for no order.
std::string shared_text(const std::vector<SharedOrder>& orders);
/// null for no order.
Json shared_json(const std::vector<SharedOrder>& orders);

}  // namespace maskctl::app
