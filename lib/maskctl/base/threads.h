// Work split over the cores of the machine.
#pragma once

#include <functional>

#include "maskctl/base/index.h"

namespace maskctl {

/// How many threads parallel_for may use in this process; 0 = one per core. Default 0.
void set_threads(int count);
int threads();

/// Calls task(0) .. task(tasks - 1), each once, in any order, on up to threads() threads including
/// the caller's. Returns when all are done. If a task throws, no further tasks are started and the
/// first exception is rethrown here. A call from inside a task runs on the calling thread alone.
void parallel_for(Index tasks, const std::function<void(Index)>& task);

}  // namespace maskctl
