// Waiting for all work of a device.
#include <cstddef>
#include <utility>
#include <vector>

#include "core/stream/registry.hpp"
#include "cpu/device/backend.hpp"
#include "cpu/host_sync/help.hpp"
#include "cpu/queue/queue.hpp"

namespace heddle::detail::cpu {

void CpuBackend::synchronize_device(int device, std::vector<CompletionRef>& waited,
                                    const SourceLocation&) {
    const std::size_t before = waited.size();
    for_each_stream([&](StreamRecord& stream) {
        if (stream.device == Access::device(DeviceKind::cpu, device))
            if (CompletionRef done = pending_work({&stream, stream.id.load()}))
                waited.push_back(std::move(done));
    });
    for (std::size_t i = before; i < waited.size(); ++i) wait_for(*waited[i]);
}

}  // namespace heddle::detail::cpu
