// Every kernel on NVIDIA GPUs, sm_80 and newer, f32 sums. Arrays of the host are copied to the GPU
// and back; those that are there already are used where they are.
#pragma once

#include <string>

#include "maskctl/attention/problems/kernels.h"

namespace maskctl::attention::cuda {

extern const Kernels kKernels;

/// Why kernels cannot run: the build has none, or the machine has no GPU for them; empty when they
/// can.
std::string unavailable();

/// How many GPUs this process has; 0 where no kernel can run.
int gpus();
/// The calling thread works on GPU n from now on, 0 at first.
void use_gpu(int n);

/// What runs on tensor cores on this machine, or why nothing does, in words; empty where no kernel
/// can run at all.
std::string tensor_cores();

}  // namespace maskctl::attention::cuda
