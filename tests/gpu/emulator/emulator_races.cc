// The emulator of a program in which the thread sanitizer looks at kernels: it is told of threads
// and of what orders them, and does not look at the emulator itself.
#define MASKCTL_FIND_RACES

#include "emulator.cc"
