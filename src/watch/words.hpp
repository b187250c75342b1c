// Words of which reports of the watch consist.
#pragma once

#include <cstdint>
#include <string>

#include <heddle/detail/host_op.hpp>
#include <heddle/observe/watch.hpp>

namespace heddle::detail {

/// An operation as reports name it.
struct OpWords {
    bool is_host_function = false;
    bool has_name = false;
    std::string kind;  ///< "kernel", "host function", "copy" and the like
    std::string name;  ///< "Relax"; for copies and the like the kind
};

/// Returns the words for an operation of this type, which may be gone.
OpWords words_of(const OpType* type);
/// Returns a place whose file's name may be gone.
PendingPlace place_of(const SourceLocation& where);
/// Returns "solver.cpp:88".
std::string place_words(const PendingPlace& place);
std::string place_words(const SourceLocation& where);
/// Returns the name of an operation that was noted, whose text may be gone.
std::string name_words(OpKind kind, const char* name);
/// Returns "10.0 s".
std::string time_words(std::int64_t ns);
/// Returns "1 operation", or "3 operations".
std::string count_words(std::uint64_t count, const char* noun);

}  // namespace heddle::detail
