#include "tables.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

namespace heddle::tool {
namespace {

void print_access_between(const std::vector<Device>& group) {
    std::vector<Row> rows{{"access"}};
    for (const Device column : group) rows.front().push_back(column.name());
    for (const Device row : group) {
        rows.push_back({row.name()});
        for (const Device column : group)
            rows.back().push_back(row == column                 ? "-"
                                  : row.can_access_pool(column) ? "peer, pool"
                                  : row.can_access_peer(column) ? "peer"
                                                                : "none");
    }
    print("\n");
    print_table(rows);
}

}  // namespace

void print(const std::string& text) { std::fputs(text.c_str(), stdout); }

void print_table(const std::vector<Row>& rows) {
    std::vector<std::size_t> widths(rows.front().size());
    for (const Row& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    for (const Row& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i)
            line += fmt::format("{:<{}}", row[i], widths[i] + 2);
        line.erase(line.find_last_not_of(' ') + 1);
        print(line + '\n');
    }
}

std::string gibibytes(std::size_t bytes) {
    return bytes == 0 ? "?" : fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
}

std::vector<Device> devices_of(DeviceKind kind) {
    std::vector<Device> found;
    for (const Device device : devices())
        if (device.kind() == kind) found.push_back(device);
    return found;
}

void print_access() {
    for (const DeviceKind kind : {DeviceKind::cuda, DeviceKind::cpu})
        if (const auto group = devices_of(kind); group.size() > 1) print_access_between(group);
}

}  // namespace heddle::tool
