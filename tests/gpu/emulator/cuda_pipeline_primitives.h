// For emulated kernels (see cuda_runtime.h): asynchronous copies from global to shared memory. They
// are made only when a thread waits for them.
#pragma once

#include <cstddef>

void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes);
void __pipeline_commit();
/// Makes all copies of this thread but those of its latest `in_flight` commits.
void __pipeline_wait_prior(std::size_t in_flight);
