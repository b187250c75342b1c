// Memory of CPU devices that other processes map: files without a name (memfd_create), which they open by way of this process's folder in /proc.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

#include <heddle/interprocess.hpp>

#include "core/fork.hpp"
#include "cpu/backend.hpp"

namespace heddle::detail::cpu {

namespace {

/// What stands in ArrayHandle::memory.
struct FileName {
    int descriptor;
    std::uint64_t device, inode;  ///< so that another file in the same place is not taken for it
};
static_assert(sizeof(FileName) <= sizeof(ArrayHandle::memory));

/// The files of this process's own shared memory.
struct Files {
    std::mutex mutex;
    std::map<const void*, int> of;
};
Files& files() {
    static auto* const instance = [] {
        auto* made = new Files;
        register_fork_lock(ForkOrder::shared_files, made->mutex);
        return made;
    }();
    return *instance;
}

[[noreturn]] void fail(ErrorCode code, const std::string& what, const char* call, int error, int device,
                       const SourceLocation& where) {
    throw_error({.code = code,
                 .message = what + (error != 0 ? std::string(": ") + std::strerror(error) : ""),
                 .call = call,
                 .native_code = error,
                 .device = Device::unchecked(DeviceKind::cpu, device),
                 .where = where});
}

/// Closed whatever happens.
struct Descriptor {
    int value = -1;
    ~Descriptor() {
        if (value >= 0) close(value);
    }
};

/// Closes the memory's file, if it is this process's own.
void forget(const void* base) noexcept {
    Files& all = files();
    const std::lock_guard lock(all.mutex);
    const auto file = all.of.find(base);
    if (file == all.of.end()) return;
    close(file->second);
    all.of.erase(file);
}

void* map(int file, std::size_t bytes) noexcept {
    void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return base == MAP_FAILED ? nullptr : base;
}

}  // namespace

void* CpuBackend::allocate_shared(int device, std::size_t bytes, const SourceLocation& where) {
    constexpr const char* call = "shareable";
    Descriptor file{memfd_create("heddle", MFD_CLOEXEC)};
    void* base = nullptr;
    if (file.value < 0 || ftruncate(file.value, static_cast<off_t>(bytes)) != 0 ||
        (base = map(file.value, bytes)) == nullptr)
        fail(errno == EMFILE || errno == ENFILE ? ErrorCode::native : ErrorCode::out_of_memory,
             "no " + std::to_string(bytes) + " bytes of shared memory", call, errno, device, where);
    Files& all = files();
    const std::lock_guard lock(all.mutex);
    all.of.emplace(base, std::exchange(file.value, -1));
    return base;
}

void CpuBackend::export_shared(const void* base, ArrayHandle& handle, const SourceLocation& where) {
    FileName name{};
    {
        Files& all = files();
        const std::lock_guard lock(all.mutex);
        name.descriptor = all.of.at(base);
    }
    struct stat is {};
    if (fstat(name.descriptor, &is) != 0)
        fail(ErrorCode::native, "the memory's file is gone", "export_array", errno, handle.device_index,
             where);
    name.device = is.st_dev;
    name.inode = is.st_ino;
    std::memcpy(handle.memory.data(), &name, sizeof name);
}

void* CpuBackend::import_shared(int device, const ArrayHandle& handle, const SourceLocation& where) {
    constexpr const char* call = "import_array";
    FileName name{};
    std::memcpy(&name, handle.memory.data(), sizeof name);
    const std::string process = std::to_string(handle.process);
    const std::string path = "/proc/" + process + "/fd/" + std::to_string(name.descriptor);
    const Descriptor file{open(path.c_str(), O_RDWR | O_CLOEXEC)};
    struct stat is {};
    if (file.value < 0 || fstat(file.value, &is) != 0)
        fail(ErrorCode::unsupported,
             errno == ENOENT ? "process " + process + " has ended, or has given the array up"
                             : "process " + process + " does not let its memory be opened (another user's?)",
             call, errno, device, where);
    if (is.st_dev != name.device || is.st_ino != name.inode ||
        static_cast<std::uint64_t>(is.st_size) < handle.bytes)
        fail(ErrorCode::unsupported, "process " + process + " has given the array up", call, 0, device,
             where);
    void* const base = map(file.value, handle.bytes);
    if (base == nullptr)
        fail(ErrorCode::out_of_memory, "the memory could not be mapped", call, errno, device, where);
    return base;
}

void CpuBackend::free_shared(const SharedMemory& memory, StreamRecord* const* users,
                             std::size_t user_count) noexcept {
    give_back_after(
        memory.base, memory.bytes, memory.device,
        [](void* base, std::size_t bytes, int) noexcept {
            forget(base);  // before the address can be another's
            munmap(base, bytes);
        },
        users, user_count);
}

}  // namespace heddle::detail::cpu
