// Copies from the GPU's memory to shared memory that threads do not wait for, for emulated kernels:
// see cuda_runtime.h. Nothing arrives before it is waited for.
#pragma once

#include <cstddef>

void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes);
void __pipeline_commit();
/// Waits for all but the latest `in_flight` commits of the thread.
void __pipeline_wait_prior(std::size_t in_flight);
