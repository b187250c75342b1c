// Compiled programs on disk.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/code_backend.hpp"

namespace heddle::detail {

/// 128 bits that differ for different texts, unless somebody means them not to.
std::array<std::uint64_t, 2> hash_text(std::string_view text) noexcept;
std::string hex_of(const std::array<std::uint64_t, 2>& hash);

/// Everything that decides what a source compiles to, in one text: the source, options, headers, names, architecture, compiler, and what the files
/// are that it can include. Nothing where that cannot be told.
std::optional<std::string> cache_key(const std::string& source, const ProgramOptions& options,
                                     const std::string& compiler);

/// The files that a source, given headers and -I options, can include, as text: names and hashes. Conditions are not looked at, so that
/// it is rather too much than too little. Nothing where an #include cannot be read without a preprocessor.
std::optional<std::string> included_files(const std::string& source, const ProgramOptions& options);

/// Where entries are kept: $HEDDLE_CACHE_DIR, else $XDG_CACHE_HOME/heddle, else ~/.cache/heddle; empty if there is none of these.
std::string cache_directory();

/// Bytes that all entries of a folder may have together: $HEDDLE_CACHE_MIB mebibytes, else 1 GiB.
std::uint64_t cache_limit() noexcept;

/// The entry for a key; nothing if there is none, or none that is whole and of this very key, or where somebody else than this user and root
/// may have written it. It counts as used now.
std::optional<Compiled> read_entry(const std::string& directory, const std::string& key);
/// Writes it, over what is there. Readers, of other processes too, see all of it or nothing. Problems are reported, once in a process. Entries that
/// were not used for longest go while all together have more than `limit` bytes, and what writers that were killed have left.
void write_entry(const std::string& directory, const std::string& key, const Compiled& compiled,
                 std::uint64_t limit = cache_limit()) noexcept;
std::string entry_path(const std::string& directory, const std::string& key);

}  // namespace heddle::detail
