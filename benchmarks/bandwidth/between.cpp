#include "bandwidth/between.hpp"

#include <memory>
#include <string>
#include <vector>

#include <heddle/heddle.hpp>

#include "bandwidth/parts.hpp"

using namespace heddle;

namespace bench {

namespace {

/// Copies from one device to another, on a stream of the first device.
struct Link {
    Device from, to;
    Stream stream;
    Array<std::byte> source, target;

    Link(Device f, Device t, std::size_t bytes)
        : from(f), to(t), stream(f), source(zeros<std::byte>(stream, bytes)),
          target(make(t, bytes)) {
        stream.synchronize();
    }

private:
    static Array<std::byte> make(Device device, std::size_t bytes) {
        const Stream there{device};
        Array<std::byte> made = zeros<std::byte>(there, bytes);
        there.synchronize();
        return made;
    }
};

/// Adds a row. One call makes one copy over each link, all at the same time.
void add(Report& report, const std::string& name,
         const std::vector<std::pair<Device, Device>>& ends, std::size_t bytes, bool access) {
    if (!report.wants(name)) return;
    report.attempt(name, [&] {
        std::vector<Link> links;
        std::vector<Transfer> transfers;
        links.reserve(ends.size());
        for (const auto& [from, to] : ends) {
            Link& link = links.emplace_back(from, to, bytes);
            transfers.push_back({from.index(), to.index(), link.target.data(), link.source.data()});
        }
        const Side heddle{[&links](int calls) {
            for (int i = 0; i < calls; ++i)
                for (Link& link : links) copy(link.stream, link.target, link.source);
            for (const Link& link : links) link.stream.synchronize();
        }};
        const double moved = static_cast<double>(bytes) * static_cast<double>(links.size());
        report.compare(name, ends.front().first.name(), heddle,
                       ends.front().first.is_cuda() ? raw_transfers(transfers, bytes, access)
                                                    : plain_transfers(transfers, bytes),
                       {.calls = 8, .pairs = 50, .seconds = 0.4, .quick_calls = 1},
                       in_gb_per_s(moved));
    });
}

}  // namespace

void add_copies_between(Report& report, DeviceKind kind) {
    std::vector<Device> all;
    for (const Device device : devices())
        if (device.kind() == kind) all.push_back(device);
    if (all.size() < 2) return;
    const std::size_t megabytes = report.quick() ? 1 : kind == DeviceKind::cuda ? 256 : 64;
    const std::size_t bytes = megabytes << 20;
    const std::string suffix = ", " + std::to_string(megabytes) + " MB";
    const auto one_way = [](Device a, Device b) { return "from " + a.name() + " to " + b.name(); };

    // Measured first, before any row enables access.
    if (kind == DeviceKind::cuda)
        add(report, one_way(all[0], all[1]) + suffix + ", without access", {{all[0], all[1]}},
            bytes, false);
    std::vector<std::unique_ptr<ScopedPoolAccess>> access;
    report.attempt("pool access", [&] {
        for (std::size_t i = 0; i < all.size(); ++i)
            for (std::size_t k = i + 1; k < all.size(); ++k)
                if (all[i].can_access_peer(all[k]) && all[k].can_access_peer(all[i]))
                    access.push_back(std::make_unique<ScopedPoolAccess>(all[i], all[k]));
    });
    for (const Device from : all)
        for (const Device to : all)
            if (from != to) add(report, one_way(from, to) + suffix, {{from, to}}, bytes, true);
    for (std::size_t i = 0; i < all.size(); ++i)
        for (std::size_t k = i + 1; k < all.size(); ++k)
            add(report, one_way(all[i], all[k]) + " and back at once" + suffix + " each",
                {{all[i], all[k]}, {all[k], all[i]}}, bytes, true);
    if (all.size() < 3) return;
    std::vector<std::pair<Device, Device>> ring;
    for (std::size_t i = 0; i < all.size(); ++i)
        ring.emplace_back(all[i], all[(i + 1) % all.size()]);
    add(report, "around a ring of " + std::to_string(all.size()) + suffix + " each", ring, bytes,
        true);
}

}  // namespace bench
