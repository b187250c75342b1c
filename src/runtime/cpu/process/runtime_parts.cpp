// The CPU backend's part of a bug report.
#include "core/seam/runtime_parts.hpp"

#include <string>
#include <thread>

#include <unistd.h>

#include "core/base/format.hpp"
#include "cpu/executor/executor.hpp"

namespace heddle::detail {

namespace {

/// Appends a cache's size to the text, if the C library knows it.
void add_cache(std::string& text, const char* name, int key) {
    const long bytes = sysconf(key);
    if (bytes <= 0) return;
    text += formatted("{}{} {} KiB", text.empty() ? "" : ", ", name, bytes / 1024);
}

std::string cache_sizes() {
    std::string text;
#ifdef _SC_LEVEL1_DCACHE_SIZE  // glibc
    add_cache(text, "L1", _SC_LEVEL1_DCACHE_SIZE);
    add_cache(text, "L2", _SC_LEVEL2_CACHE_SIZE);
    add_cache(text, "L3", _SC_LEVEL3_CACHE_SIZE);
#endif
    return text;
}

}  // namespace

void list_cpu_parts(std::vector<RuntimePart>& parts) {
    parts.push_back({.name = "CPU workers",
                     .found = formatted("{} threads for {} processors", cpu::configured_workers(),
                                        std::thread::hardware_concurrency()),
                     .problem = {}});
    const std::string caches = cache_sizes();
    parts.push_back({.name = "CPU caches",
                     .found = caches,
                     .problem = caches.empty() ? "the C library does not know their sizes" : ""});
}

}  // namespace heddle::detail
