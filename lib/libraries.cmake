# Highway and libmd, as maskctl::hwy and maskctl::md, for builds of maskctl and of what uses it: not
# every system has CMake packages of them.
function(maskctl_library name header)
  find_path(MASKCTL_${name}_INCLUDE ${header})
  find_library(MASKCTL_${name}_LIBRARY ${name})
  mark_as_advanced(MASKCTL_${name}_INCLUDE MASKCTL_${name}_LIBRARY)
  if(MASKCTL_${name}_INCLUDE AND MASKCTL_${name}_LIBRARY AND NOT TARGET maskctl::${name})
    add_library(maskctl::${name} UNKNOWN IMPORTED)
    set_target_properties(maskctl::${name} PROPERTIES
      IMPORTED_LOCATION ${MASKCTL_${name}_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${MASKCTL_${name}_INCLUDE})
  endif()
endfunction()

maskctl_library(hwy hwy/highway.h)
maskctl_library(md sha2.h)
if(TARGET maskctl::hwy)
  set_target_properties(maskctl::hwy PROPERTIES INTERFACE_COMPILE_DEFINITIONS HWY_SHARED_DEFINE)
endif()
