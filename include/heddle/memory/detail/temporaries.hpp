// Temporary memory that a library asks for while a stream is lent to it.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <heddle/memory/array.hpp>
#include <heddle/memory/make_array.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// Allocates and frees memory in the order of one stream. Each allocation is an array of the
/// stream, so the stream's cache serves it and a capture's graph owns it. Used by one thread at a
/// time.
class Temporaries {
public:
    explicit Temporaries(StreamRef stream, const SourceLocation& where)
        : stream_(stream), where_(where) {}
    Temporaries(const Temporaries&) = delete;
    Temporaries& operator=(const Temporaries&) = delete;

    /// Returns memory aligned to 256 bytes, also for 0 bytes. Throws OutOfMemory.
    void* allocate(std::size_t bytes) {
        arrays_.push_back(empty<std::byte>(stream_, bytes != 0 ? bytes : 1, Where(where_)));
        return arrays_.back().data();
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
    SourceLocation where_;
    std::vector<Array<std::byte>> arrays_;
};

}  // namespace detail
}  // namespace heddle
