// The one macro of heddle, and the one question it asks of the compiler.
#pragma once

// Templates that do different things under the two compilers live in the inline namespace HEDDLE_COMPILED_BY, so that a
// program which instantiates one in both kinds of source file keeps two functions (no ODR violation).
#ifdef __CUDACC__
/// Marks a function for both compilers: a portable kernel, and whatever it calls.
#define HEDDLE_FN __host__ __device__
#define HEDDLE_COMPILED_BY compiled_by_nvcc
#include <heddle/detail/launch_nvcc.hpp>
#else
#define HEDDLE_FN
#define HEDDLE_COMPILED_BY compiled_by_cxx
#include <heddle/detail/launch_cxx.hpp>
#endif
