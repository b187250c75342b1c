// The frame of a trace file: a head, sections with their lengths and checks, and an end. It
// distinguishes a whole file from one that was cut off, damaged or written by another program.
//
//     head       8 bytes "\x89heddle\n", version: major and minor of 2 bytes, check of 4 bytes
//     sections   name of 4 bytes, length of 8, check of these of 4; contents; check of 8 bytes
//     end        a section "end " whose contents are the checks of all sections before it
//
// Numbers are little-endian; checks are XXH3. The head is the same in all versions. Readers skip
// sections that they do not know, which newer minor versions may add.
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

/// A file is not a whole trace of a readable version. The text is a fact and a remedy: the rest of
/// a sentence that begins with the file's name.
struct NoTrace : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Writes a trace file, section by section. Errors are reported by the state of the stream.
class SectionWriter {
public:
    explicit SectionWriter(std::ostream& to);
    /// `name` has four characters.
    void write(std::string_view name, std::string_view contents);
    /// Writes the end. Call once, last.
    void write_end();

private:
    void put(std::string_view bytes);
    std::ostream& to_;
    std::string checks_;  ///< checks of all sections written
};

struct Section {
    std::string_view name, contents;
    std::uint64_t check = 0;
};

/// Returns a file's sections, without the end, as views of `file`. Throws NoTrace unless the file
/// is whole and all checks match.
std::vector<Section> sections_of(std::string_view file);

/// Returns a size in words: "1.2 MB".
std::string size_in_words(std::size_t bytes);

}  // namespace heddle::detail
