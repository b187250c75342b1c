# Decides whether heddle is built with CUPTI, NVIDIA's library for profilers. Only its headers are
# needed: the library is looked for when a recording asks for it.
#
# Out: HEDDLE_WITH_CUPTI     whether src/cuda/cupti is built; then HEDDLE_CUPTI_INCLUDE has the
#                            headers, and HEDDLE_CUPTI_FOLDER the toolkit's library, if it has one

set(HEDDLE_WITH_CUPTI OFF)
if(NOT HEDDLE_WITH_CUDA)
    return()
endif()
cmake_path(GET CMAKE_CUDA_COMPILER PARENT_PATH heddle_cuda_bin)
cmake_path(GET heddle_cuda_bin PARENT_PATH heddle_cuda_root)
find_path(HEDDLE_CUPTI_INCLUDE cupti.h
    HINTS ${CUDAToolkit_INCLUDE_DIRS} "${heddle_cuda_root}"
    PATH_SUFFIXES include extras/CUPTI/include)
find_path(HEDDLE_CUPTI_FOLDER libcupti.so
    HINTS "${heddle_cuda_root}"
    PATH_SUFFIXES lib64 lib extras/CUPTI/lib64
    NO_DEFAULT_PATH)
mark_as_advanced(HEDDLE_CUPTI_INCLUDE HEDDLE_CUPTI_FOLDER)
if(HEDDLE_CUPTI_INCLUDE)
    set(HEDDLE_WITH_CUPTI ON)
    message(STATUS "heddle: built with CUPTI (${HEDDLE_CUPTI_INCLUDE}/cupti.h)")
else()
    message(STATUS "heddle: built without CUPTI (cupti.h was not found)")
endif()
