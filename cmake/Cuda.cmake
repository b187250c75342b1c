# Decides whether heddle is built with its CUDA backend, and for which GPUs.
#
# In:  HEDDLE_CUDA                AUTO (where there is a toolkit), ON (it must be there) or OFF
#      HEDDLE_PROGRAMS_ON_CUDA    AUTO (where there is a GPU, or GPUs are chosen), ON or OFF
#      CMAKE_CUDA_ARCHITECTURES   or the environment's CUDAARCHS: the user's choice of GPUs, if any
# Out: HEDDLE_WITH_CUDA           whether src/runtime/cuda is built; then the language CUDA is
#                                 enabled, and CUDA::* exist
#      HEDDLE_WITH_CUDA_PROGRAMS  whether nvcc compiles the kernels of tests, examples and
#                                 benchmarks, too

heddle_choice(HEDDLE_CUDA heddle_cuda_choice "The CUDA backend")
heddle_choice(HEDDLE_PROGRAMS_ON_CUDA heddle_programs_choice
    "Tests, examples and benchmarks for GPUs")

set(HEDDLE_WITH_CUDA OFF)
set(HEDDLE_WITH_CUDA_PROGRAMS OFF)
if(NOT heddle_cuda_choice STREQUAL "AUTO" AND NOT heddle_cuda_choice)
    message(STATUS "heddle: built without CUDA (HEDDLE_CUDA=${HEDDLE_CUDA})")
    return()
endif()

# Says why there will be no CUDA backend: a status line for AUTO, an error for ON. The caller
# returns.
macro(heddle_no_cuda reason)
    if(heddle_cuda_choice STREQUAL "AUTO")
        message(STATUS "heddle: built without CUDA (${reason})")
    else()
        message(FATAL_ERROR "heddle: HEDDLE_CUDA=${HEDDLE_CUDA}, but ${reason}")
    endif()
endmacro()

# The toolkit's installer puts nvcc where PATH seldom leads.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(HEDDLE_NVCC nvcc
        HINTS ENV CUDA_PATH ENV CUDA_HOME
        PATHS /usr/local/cuda
        PATH_SUFFIXES bin)
    mark_as_advanced(HEDDLE_NVCC)
    if(HEDDLE_NVCC)
        set(ENV{CUDACXX} "${HEDDLE_NVCC}")
    endif()
endif()
# One compiler for all host code, unless the user says otherwise.
if(NOT CMAKE_CUDA_HOST_COMPILER AND NOT DEFINED ENV{CUDAHOSTCXX})
    set(ENV{CUDAHOSTCXX} "${CMAKE_CXX_COMPILER}")
endif()

# Architectures have to be chosen before CMake fills in its own default. Portable means code for
# sm_80 and sm_90, and PTX of 90 for newer ones.
set(heddle_portable_architectures "80-real;90")
set(heddle_gpus_known ON)
if(NOT CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
    set(CMAKE_CUDA_ARCHITECTURES "${heddle_portable_architectures}")
    set(heddle_gpus 1)
    find_program(HEDDLE_NVIDIA_SMI nvidia-smi)
    mark_as_advanced(HEDDLE_NVIDIA_SMI)
    if(HEDDLE_NVIDIA_SMI)
        execute_process(COMMAND "${HEDDLE_NVIDIA_SMI}" -L
            RESULT_VARIABLE heddle_gpus OUTPUT_QUIET ERROR_QUIET)
    endif()
    if(heddle_gpus EQUAL 0 OR EXISTS /dev/nvidia0)
        set(CMAKE_CUDA_ARCHITECTURES native)
    else()
        set(heddle_gpus_known OFF)
    endif()
endif()

include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
    heddle_no_cuda("no working nvcc was found")
    return()
endif()
enable_language(CUDA)
set(heddle_oldest_cuda 12.4)  # scripts/cuda reads this line
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS heddle_oldest_cuda)
    string(CONCAT heddle_reason "heddle needs CUDA ${heddle_oldest_cuda} or newer, "
        "and this is ${CMAKE_CUDA_COMPILER_VERSION}")
    heddle_no_cuda("${heddle_reason}")
    return()
endif()
# CMake 3.25.1 does not know that nvcc 12 and newer can.
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
find_package(CUDAToolkit QUIET)
if(NOT TARGET CUDA::cudart_static)
    heddle_no_cuda("the CUDA toolkit has no static runtime library")
    return()
endif()
# A device node, and no GPU that answers.
if(CMAKE_CUDA_ARCHITECTURES STREQUAL "native"
   AND NOT CMAKE_CUDA_ARCHITECTURES_NATIVE MATCHES "^[0-9]")
    set(CMAKE_CUDA_ARCHITECTURES "${heddle_portable_architectures}")
    set(heddle_gpus_known OFF)
endif()

set(HEDDLE_WITH_CUDA ON)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)   # one binary that starts with or without a driver
message(STATUS "heddle: built with CUDA ${CMAKE_CUDA_COMPILER_VERSION} "
    "for ${CMAKE_CUDA_ARCHITECTURES}")

# Where they would not run, nvcc takes four times as long for them as the C++ compiler alone.
set(HEDDLE_WITH_CUDA_PROGRAMS ON)
set(heddle_reason "HEDDLE_PROGRAMS_ON_CUDA=${HEDDLE_PROGRAMS_ON_CUDA}")
if(heddle_programs_choice STREQUAL "AUTO")
    set(HEDDLE_WITH_CUDA_PROGRAMS ${heddle_gpus_known})
    set(heddle_reason "no GPU was found")
elseif(NOT heddle_programs_choice)
    set(HEDDLE_WITH_CUDA_PROGRAMS OFF)
endif()
if(NOT HEDDLE_WITH_CUDA_PROGRAMS
   AND (HEDDLE_BUILD_TESTS OR HEDDLE_BUILD_EXAMPLES OR HEDDLE_BUILD_BENCHMARKS))
    message(STATUS
        "heddle: tests, examples and benchmarks are built without CUDA (${heddle_reason})")
endif()
