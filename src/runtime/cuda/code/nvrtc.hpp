// NVRTC, CUDA's run-time compiler. Loaded at first use, so that programs that never compile start
// without it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <heddle/location.hpp>

struct _nvrtcProgram;

namespace heddle::detail::cu {

/// The NVRTC functions that heddle calls, declared as in NVRTC's documentation. They return ints; 0
/// means success.
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

    std::string identity;            ///< the version, and the file's size and time
    std::vector<int> architectures;  ///< 90 for sm_90, ascending
    /// The result of compile() for an incorrect source. The log has the reason.
    static constexpr int bad_source = 6;
};

/// Returns the library, loaded once: the file named by HEDDLE_NVRTC, otherwise one found by the
/// linker or in CUDA's installation folders. If there is none, every call throws Unsupported.
const Nvrtc& nvrtc(const SourceLocation& where);

}  // namespace heddle::detail::cu
