// Temporary memory that a library asks for while a stream is lent to it.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <heddle/error.hpp>
#include <heddle/memory/array.hpp>
#include <heddle/memory/make_array.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// Allocates temporary memory for `call`. Returns at least one byte, also for 0 bytes.
inline Array<std::byte> make_temporary(StreamRef stream, std::size_t bytes, const char* call,
                                       const SourceLocation& where) {
    return make_array<std::byte>(stream, bytes != 0 ? bytes : 1, call, Where(where));
}

/// Allocates and frees memory in the order of one stream, for `call`. Each allocation is an array
/// of the stream, so the stream's cache serves it and a capture's graph owns it. Used by one thread
/// at a time.
class Temporaries {
public:
    Temporaries(StreamRef stream, const char* call, const SourceLocation& where)
        : stream_(stream), call_(call), where_(where) {}
    Temporaries(const Temporaries&) = delete;
    Temporaries& operator=(const Temporaries&) = delete;

    /// Returns memory aligned to 256 bytes, also for 0 bytes. Throws OutOfMemory.
    void* allocate(std::size_t bytes) try {
        arrays_.push_back(detail::make_temporary(stream_, bytes, call_, where_));
        return arrays_.back().data();
    } catch (...) {
        detail::rethrow_as_error(call_, where_);
    }
    void deallocate(const void* data) noexcept {
        for (std::size_t i = arrays_.size(); i-- > 0;) {
            if (arrays_[i].data() != data) continue;
            std::swap(arrays_[i], arrays_.back());
            return arrays_.pop_back();
        }
    }

private:
    StreamRef stream_;
    const char* call_;
    SourceLocation where_;
    std::vector<Array<std::byte>> arrays_;
};

}  // namespace detail
}  // namespace heddle
