// NVRTC, CUDA's compiler, loaded at run time: a program that never compiles starts without it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <heddle/location.hpp>

struct _nvrtcProgram;

namespace heddle::detail::cu {

/// The NVRTC functions that heddle calls, as its documentation declares them. They return ints, 0
/// for success.
struct Nvrtc {
    using Handle = _nvrtcProgram*;
    const char* (*error_text)(int);
    int (*version)(int*, int*);
    int (*count_architectures)(int*);
    int (*list_architectures)(int*);
    int (*create)(Handle*, const char* source, const char* name, int count,
                  const char* const* headers, const char* const* names);
    int (*destroy)(Handle*);
    int (*compile)(Handle, int count, const char* const* options);
    int (*ptx_size)(Handle, std::size_t*);
    int (*get_ptx)(Handle, char*);
    int (*cubin_size)(Handle, std::size_t*);
    int (*get_cubin)(Handle, char*);
    int (*log_size)(Handle, std::size_t*);
    int (*get_log)(Handle, char*);
    int (*add_name)(Handle, const char*);
    int (*lowered_name)(Handle, const char*, const char**);

    std::string identity;            ///< version, and size and time of the file
    std::vector<int> architectures;  ///< 90 for sm_90, ascending
    /// The result of compile() for a source that does not compile. The log says why.
    static constexpr int bad_source = 6;
};

/// Returns the library, loaded once: the one that HEDDLE_NVRTC names, else where the linker and
/// CUDA's installer put it. Throws Unsupported, at each call, if there is none.
const Nvrtc& nvrtc(const SourceLocation& where);

}  // namespace heddle::detail::cu
