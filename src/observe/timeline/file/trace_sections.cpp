#include "timeline/file/trace_sections.hpp"

#include <algorithm>
#include <ostream>

#define XXH_INLINE_ALL  // no library to link
#include <xxhash.h>

#include "core/base/format.hpp"

namespace heddle::detail {

namespace {

constexpr std::string_view magic = "\x89heddle\n", end_name = "end ";
constexpr std::size_t head_size = 16, section_head_size = 16, check_size = 8;

void put_bytes(std::string& to, std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i));
}

std::uint64_t bytes_at(std::string_view from, std::size_t at, std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = bytes; i-- > 0;)
        value = value << 8 | static_cast<unsigned char>(from[at + i]);
    return value;
}

/// Returns the bytes followed by their checksum of 4 bytes.
std::string with_check(std::string bytes) {
    put_bytes(bytes, check_of(bytes), 4);
    return bytes;
}

/// Returns whether the last 4 bytes are the checksum of the preceding bytes.
bool has_check(std::string_view bytes) {
    const std::string_view checked = bytes.substr(0, bytes.size() - 4);
    return bytes_at(bytes, checked.size(), 4) == (check_of(checked) & 0xffffffff);
}

/// Returns the first bytes of a file in quotes, in printable form.
std::string beginning_of(std::string_view file) {
    std::string shown = "\"";
    for (const char c : file.substr(0, 12)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte >= 0x7f) shown += detail::formatted("\\x{:02x}", byte);
        else shown += c;
    }
    return shown + '"';
}

[[noreturn]] void throw_foreign(std::string_view file) {
    const std::string begins = beginning_of(file);
    if (file.starts_with('{') || file.starts_with('[') || file.starts_with('<'))
        throw NoTrace(detail::formatted(
            "is not a trace of heddle (it begins with {}): heddle reads only .trace files; name "
            "the .trace file from which this JSON, SVG or HTML file was made",
            begins));
    throw NoTrace(
        detail::formatted("is not a trace of heddle (it begins with {}): name a file that "
                          "heddle recorded with the extension .trace",
                          begins));
}

[[noreturn]] void throw_cut_off(std::string_view file) {
    throw NoTrace(detail::formatted(
        "ends after {}, because it was not written or copied completely: record or copy it again",
        size_in_words(file.size())));
}

[[noreturn]] void throw_damaged(std::string_view what) {
    throw NoTrace(detail::formatted("is damaged ({}): record or copy it again", what));
}

void check_head(std::string_view file) {
    if (file.empty())
        throw NoTrace("is empty, because the program ended before it was written: record it again");
    if (!file.starts_with(magic.substr(0, std::min(magic.size(), file.size()))))
        throw_foreign(file);
    if (file.size() < head_size) throw_cut_off(file);
    if (!has_check(file.substr(0, head_size))) throw_damaged("the checksum of its header is wrong");
    const std::uint64_t major = bytes_at(file, magic.size(), 2);
    if (major > trace_major)
        throw NoTrace(detail::formatted("was written by a newer version of heddle (format {}; this "
                                        "version reads {}): read it with that version",
                                        major, trace_major));
    if (major < trace_major)
        throw NoTrace(detail::formatted("was written by an older version of heddle (format {}; "
                                        "this version reads {}): read it with that version",
                                        major, trace_major));
}

/// Removes a section from the front of `rest`.
Section take_section(std::string_view file, std::string_view& rest) {
    if (rest.size() < section_head_size) throw_cut_off(file);
    const std::string_view head = rest.substr(0, section_head_size);
    if (!has_check(head)) throw_damaged("the checksum of a section's header is wrong");
    const std::uint64_t size = bytes_at(head, 4, 8);
    rest.remove_prefix(section_head_size);
    if (rest.size() < check_size || size > rest.size() - check_size) throw_cut_off(file);
    const Section section{head.substr(0, 4), rest.substr(0, size),
                          bytes_at(rest, size, check_size)};
    if (section.check != check_of(section.contents, check_of(head)))
        throw_damaged(
            detail::formatted("the checksum of its section \"{}\" is wrong", section.name));
    rest.remove_prefix(size + check_size);
    return section;
}

}  // namespace

std::uint64_t check_of(std::string_view bytes, std::uint64_t seed) noexcept {
    return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

SectionWriter::SectionWriter(std::ostream& to) : to_(to) {
    std::string head(magic);
    put_bytes(head, trace_major, 2);
    put_bytes(head, trace_minor, 2);
    put(with_check(std::move(head)));
}

void SectionWriter::put(std::string_view bytes) {
    to_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void SectionWriter::write(std::string_view name, std::string_view contents) {
    std::string head(name), check;
    put_bytes(head, contents.size(), 8);
    head = with_check(std::move(head));
    put_bytes(check, check_of(contents, check_of(head)), check_size);
    put(head);
    put(contents);
    put(check);
    checks_ += check;
}

void SectionWriter::write_end() { write(end_name, checks_); }

std::vector<Section> sections_of(std::string_view file) {
    check_head(file);
    std::vector<Section> sections;
    std::string_view rest = file.substr(head_size);
    std::string checks;
    for (;;) {
        const Section section = take_section(file, rest);
        if (section.name == end_name) {
            if (section.contents != checks)
                throw_damaged("its sections differ from the sections that were written");
            if (!rest.empty()) throw_damaged(size_in_words(rest.size()) + " follow its end");
            return sections;
        }
        put_bytes(checks, section.check, check_size);
        sections.push_back(section);
    }
}

std::string size_in_words(std::size_t bytes) {
    if (bytes < 1000) return detail::formatted("{} {}", bytes, bytes == 1 ? "byte" : "bytes");
    constexpr const char* units[] = {"kB", "MB", "GB"};
    auto size = static_cast<double>(bytes) / 1000;
    std::size_t unit = 0;
    for (; size >= 999.95 && unit + 1 < std::size(units); ++unit) size /= 1000;
    return detail::formatted("{:.1f} {}", size, units[unit]);
}

}  // namespace heddle::detail
