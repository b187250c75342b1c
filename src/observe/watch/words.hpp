// Phrases of the watch's reports.
#pragma once

#include <cstdint>
#include <string>

#include <heddle/observe/watch.hpp>
#include <heddle/stream/detail/host_op.hpp>

namespace heddle::detail {

/// An operation, in the words of a report.
struct OpWords {
    bool is_host_function = false;
    bool has_name = false;
    std::string kind;  ///< "kernel", "host function", "copy" and the like
    std::string name;  ///< for example "Relax"; the kind if the operation has no name
};

/// Returns the words for operations of this type. `type` may point into an unloaded library.
OpWords words_of(const OpType* type);
/// Returns a place for a report. The text of its file's name may be in an unloaded library.
SourcePlace place_of(const SourceLocation& where);
/// Returns the place, for example "solver.cpp:88".
std::string place_words(const SourcePlace& place);
std::string place_words(const SourceLocation& where);
/// Returns the name of a noted operation. The name's text may be in an unloaded library.
std::string name_words(OpKind kind, const char* name);
/// Returns the time in seconds, for example "10.0 s".
std::string time_words(std::int64_t ns);
/// Returns the count, for example "1 operation" or "3 operations".
std::string count_words(std::uint64_t count, const char* noun);

}  // namespace heddle::detail
