/// @file
/// HEDDLE_FN, and the choice between the code for nvcc and the code for other compilers.
#pragma once

#if !defined(HEDDLE_BOUNDS)
/// With 1, kernels and host functions of this file check the indices of View and View2D (the CMake
/// option of the same name sets it for all files). Files compiled with 0 and 1 link together.
#define HEDDLE_BOUNDS 0
#endif

// Templates that differ between the two compilers are in the inline namespace HEDDLE_COMPILED_BY. A
// program that instantiates one in both kinds of source file then has two functions, not an ODR
// violation. The same holds for files with and without checks of indices.
#ifdef __CUDACC__
/// Marks a portable kernel, and every function it calls, for both compilers.
#define HEDDLE_FN __host__ __device__
#if HEDDLE_BOUNDS
#define HEDDLE_COMPILED_BY compiled_by_nvcc_with_bounds
#else
#define HEDDLE_COMPILED_BY compiled_by_nvcc
#endif
#include <heddle/detail/launch_nvcc.hpp>
#else
#define HEDDLE_FN
#if HEDDLE_BOUNDS
#define HEDDLE_COMPILED_BY compiled_by_cxx_with_bounds
#else
#define HEDDLE_COMPILED_BY compiled_by_cxx
#endif
#include <heddle/detail/launch_cxx.hpp>
#endif
