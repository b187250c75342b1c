# Decides whether heddle is built with NCCL. Only its header is needed: the library is looked for
# when a program asks for it.
#
# In:  HEDDLE_NCCL           AUTO (where there is CUDA and nccl.h), ON (they must be there) or OFF
# Out: HEDDLE_WITH_NCCL      whether src/runtime/nccl is built; then HEDDLE_NCCL_INCLUDE has the
#                            header

heddle_choice(HEDDLE_NCCL heddle_nccl_choice "NCCL for collectives")

set(heddle_nccl_problem "")
if(NOT HEDDLE_WITH_CUDA)
    set(heddle_nccl_problem "it is built without CUDA")
elseif(heddle_nccl_choice STREQUAL "AUTO" OR heddle_nccl_choice)
    find_path(HEDDLE_NCCL_INCLUDE nccl.h
        HINTS ENV NCCL_HOME ${CUDAToolkit_INCLUDE_DIRS}
        PATH_SUFFIXES include)
    mark_as_advanced(HEDDLE_NCCL_INCLUDE)
    if(NOT HEDDLE_NCCL_INCLUDE)
        set(heddle_nccl_problem "nccl.h was not found: install libnccl-dev, or set NCCL_HOME")
    endif()
endif()
heddle_decide(NCCL heddle_nccl_choice "${heddle_nccl_problem}" "${HEDDLE_NCCL_INCLUDE}/nccl.h")
