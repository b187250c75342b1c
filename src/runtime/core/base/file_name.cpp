#include "core/base/file_name.hpp"

#include <cstddef>
#include <unistd.h>

namespace heddle::detail {

std::string name_for_process(std::string_view name) {
    std::string made;
    for (std::size_t at = 0; at < name.size();) {
        const bool is_process = name.substr(at, 2) == "%p";
        made += is_process ? std::to_string(getpid()) : std::string(1, name[at]);
        at += is_process ? 2 : 1;
    }
    return made;
}

}  // namespace heddle::detail
