/// @file
/// HEDDLE_FN, and the choice between the code for nvcc and the code for other compilers.
#pragma once

// Templates that differ between the two compilers are in the inline namespace HEDDLE_COMPILED_BY. A
// program that instantiates one in both kinds of source file then has two functions, not an ODR
// violation.
#ifdef __CUDACC__
/// Marks a portable kernel, and every function it calls, for both compilers.
#define HEDDLE_FN __host__ __device__
#define HEDDLE_COMPILED_BY compiled_by_nvcc
#include <heddle/detail/launch_nvcc.hpp>
#else
#define HEDDLE_FN
#define HEDDLE_COMPILED_BY compiled_by_cxx
#include <heddle/detail/launch_cxx.hpp>
#endif
