#include "core/base/peek.hpp"

#include <cstdint>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace heddle::detail {

namespace {

/// Copies through /proc/self/mem, because some containers refuse process_vm_readv().
bool peek_in_file(const void* from, void* to, std::size_t bytes) noexcept {
    const int file = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    // pread() is not used, because sanitizers would check the memory that it reads.
    const auto got = syscall(SYS_pread64, file, to, bytes, reinterpret_cast<std::uintptr_t>(from));
    close(file);
    return got == static_cast<long>(bytes);
}

}  // namespace

bool peek(const void* from, void* to, std::size_t bytes) noexcept {
    if (from == nullptr) return false;
    iovec mine{to, bytes};
    iovec theirs{const_cast<void*>(from), bytes};
    const auto got = syscall(SYS_process_vm_readv, getpid(), &mine, 1, &theirs, 1, 0);
    if (got == static_cast<long>(bytes)) return true;
    return got < 0 && peek_in_file(from, to, bytes);
}

std::string peek_text(const char* from) {
    constexpr std::size_t most = 512;
    constexpr std::size_t step = 64;  // divides a page
    std::string text;
    while (text.size() < most) {
        char part[step];
        const char* const at = from + text.size();
        const std::size_t size = step - reinterpret_cast<std::uintptr_t>(at) % step;
        if (!peek(at, part, size)) break;
        const std::size_t length = strnlen(part, size);
        text.append(part, length);
        if (length != size) return text;
    }
    return text.empty() ? "?" : text;
}

}  // namespace heddle::detail
