// Describes the machine on which attention runs.
#pragma once

#include "app/reports/attention_json.h"

namespace maskctl::app {

MachineReport machine_report();

}  // namespace maskctl::app
