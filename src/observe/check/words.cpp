#include "check/words.hpp"

#include <string_view>

#include "core/base/format.hpp"
#include "core/base/kernel_name.hpp"

namespace heddle::detail {

std::string place_text(const Site& site) {
    const std::string_view file = site.file;
    const std::string_view last = file.substr(file.find_last_of('/') + 1);
    if (last.empty()) return "an unknown place";
    return site.line != 0 ? formatted("{}:{}", last, site.line) : std::string(last);
}

std::string place_beside(const Site& site, const Site& other) {
    const bool needs_column = site.file == other.file && site.line == other.line &&
                              site.column != other.column && site.column != 0;
    return needs_column ? formatted("{}:{}", place_text(site), site.column) : place_text(site);
}

std::string named_place(const Site& site) {
    return formatted("'{}' at {}", readable_name(site.name), place_text(site));
}

const char* kind_word(OpKind kind) noexcept {
    switch (kind) {
    case OpKind::launch: return "kernel";
    case OpKind::graph_launch: return "graph launch";
    case OpKind::host_function: return "host function";
    default: return to_string(kind);
    }
}

std::string node_text(const Site& site) {
    const std::string_view kind = kind_word(site.kind);
    const bool says_kind = site.kind == OpKind::graph_launch || site.name.starts_with(kind) ||
                           site.name.starts_with(to_string(site.kind));
    return says_kind ? formatted("node '{}'", site.name)
                     : formatted("{} node '{}'", kind, readable_name(site.name));
}

std::string part_text(const Finding& finding) {
    const std::uint64_t bytes = finding.end - finding.begin;
    const std::uint64_t offset = finding.begin - finding.allocation_begin;
    const bool in_array = finding.allocation != 0 && finding.allocation_begin != 0 &&
                          finding.begin >= finding.allocation_begin;
    const std::uint64_t element = in_array ? finding.element : 0;
    const bool has_elements = element != 0 && offset % element == 0;
    const MemoryRange& rows = finding.rows;
    if (rows.rows == 0) {
        if (has_elements)
            return formatted("elements [{}, {})", offset / element,
                             (offset + bytes + element - 1) / element);
        if (in_array) return formatted("bytes [{}, {})", offset, offset + bytes);
        return formatted("{} bytes at {:#x}", bytes, finding.begin);
    }
    const std::uint64_t unit = has_elements && rows.pitch % element == 0 ? element : 1;
    const char* const units = unit == 1 && element != 1 ? "bytes" : "elements";
    if (!in_array || offset % rows.pitch + rows.bytes > rows.pitch)
        return formatted("{} rows of {} {}, {} apart, from {:#x} on", rows.rows, rows.bytes / unit,
                         units, rows.pitch / unit, finding.begin);
    const std::uint64_t row = offset / rows.pitch, column = offset % rows.pitch;
    return formatted("{} [{}, {}) of each of the rows [{}, {}), {} {} apart,", units, column / unit,
                     (column + rows.bytes) / unit, row, row + rows.rows, rows.pitch / unit, units);
}

}  // namespace heddle::detail
