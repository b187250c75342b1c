# Decides whether heddle is built with CUPTI, NVIDIA's library for profilers. Only its headers are
# needed: the library is looked for when a recording asks for it.
#
# In:  HEDDLE_CUPTI          AUTO (where there is CUDA and cupti.h), ON (they must be there) or OFF
# Out: HEDDLE_WITH_CUPTI     whether src/runtime/cuda/cupti is built; then HEDDLE_CUPTI_INCLUDE has
#                            the headers, and HEDDLE_CUPTI_FOLDER the toolkit's library, if it has
#                            one

heddle_choice(HEDDLE_CUPTI heddle_cupti_choice "CUPTI for the times of GPUs")

set(heddle_cupti_problem "")
if(NOT HEDDLE_WITH_CUDA)
    set(heddle_cupti_problem "it is built without CUDA")
elseif(heddle_cupti_choice STREQUAL "AUTO" OR heddle_cupti_choice)
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
    if(NOT HEDDLE_CUPTI_INCLUDE)
        set(heddle_cupti_problem "cupti.h was not found: it is part of CUDA's toolkit")
    endif()
endif()
heddle_decide(CUPTI heddle_cupti_choice "${heddle_cupti_problem}" "${HEDDLE_CUPTI_INCLUDE}/cupti.h")
