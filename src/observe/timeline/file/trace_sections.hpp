// The frame of a trace file: a head, sections with their lengths and checks, and an end. By the
// frame, readers recognise files that were cut off, damaged or written by another program.
//
//     head       8 bytes "\x89heddle\n", version: major and minor, 2 bytes each; check of 4 bytes
//     sections   name of 4 bytes, length of 8, check of these of 4; contents; check of 8 bytes
//     end        a section "end " whose contents are the checks of all sections before it
//
// Numbers are little-endian. A check is an XXH3 checksum. The head is the same in all versions.
// Newer minor versions may add sections, so readers skip sections with unknown names.
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

/// Returns the XXH3 checksum with this seed: 64 bits, the same on every machine.
std::uint64_t check_of(std::string_view bytes, std::uint64_t seed = 0) noexcept;

/// Thrown if a file is not a whole trace of a readable version. The text continues a sentence that
/// begins with the file's name. It states the fact and then the remedy.
struct NoTrace : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Writes a trace file section by section. If writing fails, the state of the output stream shows
/// it.
class SectionWriter {
public:
    explicit SectionWriter(std::ostream& to);
    /// Writes a section. `name` must have four characters.
    void write(std::string_view name, std::string_view contents);
    /// Writes the end of the file. Call it once, after the last section.
    void write_end();

private:
    void put(std::string_view bytes);
    std::ostream& to_;
    std::string checks_;  ///< the checks of all sections so far
};

struct Section {
    std::string_view name, contents;
    std::uint64_t check = 0;
};

/// Returns the sections of a file, without the end, as views of `file`. Throws NoTrace if the file
/// is not whole or a check does not match.
std::vector<Section> sections_of(std::string_view file);

/// Returns a size in words, for example "1.2 MB".
std::string size_in_words(std::size_t bytes);

}  // namespace heddle::detail
