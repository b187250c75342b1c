// Names of streams, for reports.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include <heddle/stream/stream.hpp>

namespace heddle::detail {

/// Remembers the names of recently used streams.
class StreamNames {
public:
    void keep(StreamRef stream);
    std::string name(std::uint64_t id) const;  ///< "main"
    std::string full(std::uint64_t id) const;  ///< "main of cuda:0"
    std::string made(std::uint64_t id) const;  ///< "solver.cpp:40"; empty if unknown

private:
    struct Known {
        std::string name, device, made;
        std::uint64_t used = 0;
    };
    void forget_half();

    std::unordered_map<std::uint64_t, Known> all_;
    std::uint64_t uses_ = 0;
    std::uint64_t last_ = 0;  ///< the stream passed to keep() last
};

}  // namespace heddle::detail
