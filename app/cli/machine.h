// The machine that attention runs on.
#pragma once

#include "app/cli/attention_json.h"

namespace maskctl::app {

MachineReport machine_report();

}  // namespace maskctl::app
