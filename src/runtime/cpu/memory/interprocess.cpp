// Memory and events of CPU devices shared between processes.
#include <cstring>
#include <map>
#include <mutex>

#include <heddle/memory/interprocess.hpp>

#include "core/base/errors.hpp"
#include "core/base/fork.hpp"
#include "core/base/made_once.hpp"
#include "cpu/device/backend.hpp"
#include "cpu/device/native_event.hpp"
#include "cpu/device/shared_file.hpp"
#include "cpu/memory/memory.hpp"

namespace heddle::detail::cpu {

namespace {

/// The shared memory mapped in this process, both exported and imported, by address.
struct Shared {
    struct Mapping {
        SharedFile file;
        Kept kept;
    };
    std::mutex mutex;
    std::map<const void*, Mapping> files;

    void* add(SharedFile file, std::size_t bytes, int device) {
        void* const base = file.data();
        const Kept kept{base, bytes, device, &give_back};
        const std::lock_guard lock(mutex);
        files.emplace(base, Mapping{std::move(file), kept});
        return base;
    }
    static void give_back(Kept& memory) noexcept;
};
constinit MadeOnce<Shared> all_shared;
Shared& shared() { return all_shared.get(); }
[[maybe_unused]] const Shared& made_at_load = shared();
const ForkRegistration shared_files_registered{
    ForkOrder::shared_files,
    {nullptr, [](void*) { shared().mutex.lock(); }, [](void*) { shared().mutex.unlock(); }}};

void Shared::give_back(Kept& memory) noexcept {
    Shared& all = shared();
    std::unique_lock lock(all.mutex);
    const auto gone = all.files.extract(memory.base);  // before the address can be reused
    lock.unlock();
}

}  // namespace

Allocated CpuBackend::allocate_shared(int device, std::size_t bytes, const SourceLocation& where) {
    // A file can be larger than the free memory. Without this check, a later write would raise
    // SIGBUS.
    if (const std::size_t free = free_memory(device); bytes > free)
        coded_error(ErrorCode::out_of_memory,
                    {"shareable", where, Access::device(DeviceKind::cpu, device)},
                    "{} bytes of shared memory cannot be allocated ({} are available): free "
                    "memory, then retry",
                    bytes, free);
    return {shared().add(SharedFile(bytes, "shareable", where), bytes, device)};
}

void CpuBackend::export_shared(const void* base, ArrayHandle& handle, const SourceLocation& where) {
    Shared& all = shared();
    const std::lock_guard lock(all.mutex);
    const SharedFileName name = all.files.at(base).file.name("export_array", where);
    static_assert(sizeof name <= sizeof handle.memory);
    std::memcpy(handle.memory.data(), &name, sizeof name);
}

void* CpuBackend::import_shared(int device, const ArrayHandle& handle,
                                const SourceLocation& where) {
    SharedFileName name;
    std::memcpy(&name, handle.memory.data(), sizeof name);
    return shared().add(SharedFile(name, handle.bytes, "the array", "import_array", where),
                        handle.bytes, device);
}

bool CpuBackend::free_shared(const SharedMemory& memory, const StreamUse* users,
                             std::size_t user_count) noexcept {
    Shared& all = shared();
    std::unique_lock lock(all.mutex);
    Kept& kept = all.files.find(memory.base)->second.kept;
    lock.unlock();
    return give_back_after(kept, users, user_count);
}

EventHandle CpuBackend::export_event(EventState& event, const SourceLocation& where) {
    EventHandle handle;
    const SharedFileName name = shared_event(event).name(where);
    static_assert(sizeof name <= sizeof handle.bytes);
    std::memcpy(handle.bytes.data(), &name, sizeof name);
    return handle;
}

void CpuBackend::import_event(EventState& event, const EventHandle& handle,
                              const SourceLocation& where) {
    SharedFileName name;
    std::memcpy(&name, handle.bytes.data(), sizeof name);
    event.native = new SharedEvent(name, where);
}

}  // namespace heddle::detail::cpu
