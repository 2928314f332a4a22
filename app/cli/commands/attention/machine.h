// The machine that attention runs on.
#pragma once

#include "app/reports/attention_json.h"

namespace maskctl::app {

MachineReport machine_report();

}  // namespace maskctl::app
