// The emulator for programs in which the thread sanitizer checks emulated kernels: it tells the
// sanitizer about threads and what orders them. The emulator itself is not checked.
#define MASKCTL_FIND_RACES

#include "emulator.cc"
