# Finds what a build needs, and says at once what is missing: the Debian packages that have it, and
# the options of a build without it. CMAKE_PREFIX_PATH names folders to look in besides the system's:
# docs/no-root.md.

# maskctl_needs(PACKAGE OPTION VARIABLE...): PACKAGE is missing if a variable is false. OPTION is what
# a build without it turns off, or REQUIRED.
set(missing)
set(without)
macro(maskctl_needs package option)
  foreach(variable ${ARGN})
    if(NOT ${variable} AND NOT "${missing} " MATCHES " ${package} ")
      string(APPEND missing " ${package}")
      if(NOT ${option} STREQUAL REQUIRED)
        string(APPEND without " -D${option}=OFF")
      endif()
    endif()
  endforeach()
endmacro()

find_package(Threads REQUIRED)
find_package(fmt 9 CONFIG QUIET)
maskctl_needs(libfmt-dev REQUIRED fmt_FOUND)
find_package(CLI11 2.1 CONFIG QUIET)
maskctl_needs(libcli11-dev REQUIRED CLI11_FOUND)
find_package(nlohmann_json CONFIG QUIET)
maskctl_needs(nlohmann-json3-dev REQUIRED nlohmann_json_FOUND)
find_package(ZLIB QUIET)
maskctl_needs(zlib1g-dev REQUIRED ZLIB_FOUND)
find_package(PNG QUIET)
maskctl_needs(libpng-dev REQUIRED PNG_FOUND)
include(lib/libraries.cmake)
maskctl_needs(libhwy-dev REQUIRED MASKCTL_hwy_INCLUDE MASKCTL_hwy_LIBRARY)
maskctl_needs(libmd-dev REQUIRED MASKCTL_md_INCLUDE MASKCTL_md_LIBRARY)
find_path(TOML_INCLUDE_DIR toml++/toml.h)
maskctl_needs(libtomlplusplus-dev REQUIRED TOML_INCLUDE_DIR)

if(MASKCTL_SOLVE)
  find_package(Eigen3 3.4 NO_MODULE QUIET)
  maskctl_needs(libeigen3-dev MASKCTL_SOLVE Eigen3_FOUND)
endif()
if(MASKCTL_HDF5)
  find_package(HDF5 QUIET COMPONENTS C)
  maskctl_needs(libhdf5-dev MASKCTL_HDF5 HDF5_FOUND)
endif()
if(MASKCTL_TUI)
  # The command links it statically where it can: loading it costs every start a millisecond. A
  # module cannot link the static one, which is not position independent.
  find_path(NCURSESW_INCLUDE_DIR ncurses.h)
  find_library(NCURSESW_LIBRARY NAMES libncursesw.a ncursesw)
  find_library(TINFO_LIBRARY NAMES libtinfo.a tinfo)  # part of ncursesw on some systems
  find_library(NCURSESW_SHARED ncursesw)
  find_library(TINFO_SHARED tinfo)
  foreach(library TINFO_LIBRARY TINFO_SHARED)
    if(NOT ${library})
      set(${library} "")
    endif()
  endforeach()
  maskctl_needs(libncurses-dev MASKCTL_TUI NCURSESW_INCLUDE_DIR NCURSESW_LIBRARY NCURSESW_SHARED)
endif()
if(MASKCTL_PYTHON)
  find_package(Python 3.11 QUIET COMPONENTS Interpreter Development.Module
    OPTIONAL_COMPONENTS Development.SABIModule)
  maskctl_needs(python3-dev REQUIRED Python_FOUND)
endif()
if(MASKCTL_MPI)
  find_package(MPI QUIET COMPONENTS CXX)
endif()

# A line that begins with a blank is not broken by CMake.
if(missing)
  set(line "\n  packages are missing: sudo apt-get install -y --no-install-recommends${missing}\n")
  string(APPEND line "  without root: docs/no-root.md")
  if(without)
    string(APPEND line "; to do without:${without}")
  endif()
  message(FATAL_ERROR "${line}\n")
endif()

# maskctl_part(PART IS_BUILT VERSION LOSS): one line that says whether a part is built, or what is
# lost without it.
function(maskctl_part part is_built version loss)
  if(is_built)
    message(STATUS "${part}: ${version}")
  else()
    message(STATUS "${part}: absent; ${loss}")
  endif()
endfunction()
set(curses_version absent)
if(MASKCTL_TUI)
  file(STRINGS ${NCURSESW_INCLUDE_DIR}/ncurses.h curses_version REGEX "define NCURSES_VERSION \"")
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" curses_version "${curses_version}")
endif()
maskctl_part(HDF5 "${MASKCTL_HDF5}" "${HDF5_VERSION}" "HDF5 files are refused (MASKCTL_HDF5)")
maskctl_part(curses "${MASKCTL_TUI}" "${curses_version}"
  "maskctl tui is refused, and only draws into files (MASKCTL_TUI)")
maskctl_part(Eigen "${MASKCTL_SOLVE}" "${Eigen3_VERSION}" "verify --solve is refused (MASKCTL_SOLVE)")
maskctl_part(MPI "${MPI_CXX_FOUND}" "${MPI_CXX_VERSION}"
  "calls over ranks are refused (MASKCTL_MPI, libopenmpi-dev)")
maskctl_part(kernels "${MASKCTL_KERNELS}" built
  "operations without a mask are refused (MASKCTL_KERNELS)")
maskctl_part(ejkernel "${MASKCTL_EJKERNEL}" built "what needs it is refused (MASKCTL_EJKERNEL)")
maskctl_part("runtime of ejkernel" "${MASKCTL_EJKERNEL_RUNTIME}" built
  "its configs are refused (MASKCTL_EJKERNEL_RUNTIME, MASKCTL_KERNELS)")
