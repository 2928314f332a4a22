# The toolchain that compiles for 64-bit ARM with Debian's cross compiler, against the packages that
# sysroot.sh has unpacked; qemu runs what it makes.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
cmake_path(SET MASKCTL_SYSROOT NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../../build/sysroot/aarch64)
set(CMAKE_SYSROOT ${MASKCTL_SYSROOT})
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc-12)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++-12)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${MASKCTL_SYSROOT})
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${MASKCTL_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
  ${MASKCTL_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${MASKCTL_SYSROOT}/usr/share/pkgconfig)
