// Work split among the cores of the machine.
#pragma once

#include <functional>

#include "maskctl/base/index.h"

namespace maskctl {

/// Sets how many threads parallel_for may use where no WorkScope says otherwise; 0, the default,
/// means one per core.
void set_threads(int count);
/// The number of threads that the innermost WorkScope allows, or else set_threads().
int threads();

/// Calls task(0) .. task(tasks - 1), each once, in any order, on up to threads() threads including
/// the caller's. Returns when all are done. If a task throws, no further tasks are started and the
/// first exception is rethrown here. After a stop request of the WorkScope, no further tasks are
/// started either, and Error(kCancelled) is thrown. Called from inside a task, it runs on the
/// calling thread alone.
void parallel_for(Index tasks, const std::function<void(Index)>& task);

}  // namespace maskctl
