// Work split over the cores of the machine.
#pragma once

#include <functional>

#include "maskctl/base/index.h"

namespace maskctl {

/// How many threads parallel_for may use where no WorkScope says otherwise; 0 = one per core.
/// Default 0.
void set_threads(int count);
/// The number of threads of the innermost WorkScope, or else of the process.
int threads();

/// Calls task(0) .. task(tasks - 1), each once, in any order, on up to threads() threads including
/// the caller's. Returns when all are done. If a task throws, no further tasks are started and the
/// first exception is rethrown here; a stop request of the WorkScope does the same with
/// Error(kCancelled). A call from inside a task runs on the calling thread alone.
void parallel_for(Index tasks, const std::function<void(Index)>& task);

}  // namespace maskctl
