// Waiting for all work of a device.
#include <utility>
#include <vector>

#include "core/failure/told.hpp"
#include "core/stream/registry.hpp"
#include "cpu/device/backend.hpp"
#include "cpu/host_sync/help.hpp"
#include "cpu/queue/queue.hpp"

namespace heddle::detail::cpu {

void CpuBackend::synchronize_device(int device, const SourceLocation&) {
    std::vector<CompletionRef> pending;
    for_each_stream([&](StreamRecord& stream) {
        if (stream.device == Access::device(DeviceKind::cpu, device))
            if (CompletionRef done = pending_work({&stream, stream.id.load()}))
                pending.push_back(std::move(done));
    });
    for (const CompletionRef& done : pending) {
        wait_for(*done);
        // The worker may release a closed stream's last completion after this function has
        // returned.
        const Failure failure = done->failure();
        const bool is_ours = failure.use_count() == 2;  // the second owner is `done`
        if (failure != nullptr && is_ours) report_untold(*failure);
    }
}

}  // namespace heddle::detail::cpu
