// Runs long work for Python, which other threads, Ctrl-C and the end of the process do not wait
// for.
#pragma once

#include <functional>

#include "app/python/ask.h"

namespace maskctl::app {

/// Runs work without the interpreter's lock. If a signal handler raises an exception meanwhile
/// (Ctrl-C), the work is told to stop and that exception is thrown. Once the process ends, calls of
/// daemon threads stop their work and never return: the interpreter would end their threads, and
/// C++ cannot be unwound like that.
void run_attended(const std::function<void(const WantsStop&)>& work);

/// Tells the calls of other threads that the process ends, and waits until they have stopped, for
/// two seconds at most. To be registered with Python's atexit.
void stop_other_calls();

}  // namespace maskctl::app
