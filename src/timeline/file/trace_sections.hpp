// The frame of a trace file: what it begins with, sections with their lengths and checks, and an
// end, so that a file that was cut off, damaged or written by others is told from a whole one.
//
//     head       8 bytes "\x89heddle\n", version: major and minor of 2 bytes, check of 4 bytes
//     sections   name of 4 bytes, length of 8, check of these of 4; contents; check of 8 bytes
//     end        a section "end " whose contents are the checks of all sections before it
//
// Numbers are little-endian; checks are XXH3. The head is the same in all versions. Sections that a
// reader does not know are for newer ones, of the same major version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::detail {

inline constexpr std::uint16_t trace_major = 1, trace_minor = 2;

/// Returns XXH3 of 64 bits with that seed, the same on every machine.
std::uint64_t check_of(std::string_view bytes, std::uint64_t seed = 0) noexcept;

/// A file is no whole trace of a version that can be read. Says what it is instead and what to do,
/// as what follows the file's name.
struct NoTrace : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Writes a trace file, section by section. Errors are the stream's.
class SectionWriter {
public:
    explicit SectionWriter(std::ostream& to);
    /// `name` has four characters.
    void write(std::string_view name, std::string_view contents);
    /// Call once, last.
    void write_end();

private:
    void put(std::string_view bytes);
    std::ostream& to_;
    std::string checks_;  ///< of the sections that were written
};

struct Section {
    std::string_view name, contents;
    std::uint64_t check = 0;
};

/// Returns a file's sections without the end, in views of `file`. Throws NoTrace unless the file is
/// whole and all checks match.
std::vector<Section> sections_of(std::string_view file);

/// Returns a size in words: "1.2 MB".
std::string size_in_words(std::size_t bytes);

}  // namespace heddle::detail
