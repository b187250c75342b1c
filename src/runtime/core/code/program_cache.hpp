// The cache of compiled programs on disk.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/seam/code_backend.hpp"

namespace heddle::detail {

/// Returns a hash of 128 bits (XXH3), the same on every machine. Not cryptographic: collisions can
/// be constructed on purpose.
std::array<std::uint64_t, 2> hash_text(std::string_view text) noexcept;
std::string hex_of(const std::array<std::uint64_t, 2>& hash);

/// Returns all inputs that determine a source's compiled code, as one text. These are the source,
/// options, headers, names, architecture, compiler, and the contents of all files that the source
/// can include. Returns std::nullopt if those files cannot be determined.
std::optional<std::string> cache_key(const std::string& source, const ProgramOptions& options,
                                     const std::string& compiler);

/// Returns the names and hashes of the files that a source and its headers can include. Ignores
/// preprocessor conditions, and so may list too many files. Returns std::nullopt if an #include
/// line needs a preprocessor.
std::optional<std::string> included_files(const std::string& source, const ProgramOptions& options);

/// Returns the cache's folder: $HEDDLE_CACHE_DIR, else $XDG_CACHE_HOME/heddle, else
/// ~/.cache/heddle. Returns an empty text if none of the variables is set.
std::string cache_directory();

/// Returns the limit, in bytes, for all entries of a folder together: $HEDDLE_CACHE_MIB mebibytes,
/// else 1 GiB.
std::uint64_t cache_limit();

/// Returns the entry for a key and marks it as used. Returns std::nullopt if there is no entry, or
/// if it is damaged or has another key. Also returns std::nullopt if a user other than this one and
/// root may have written the entry.
std::optional<Compiled> read_entry(const std::string& directory, const std::string& key);
/// Writes an entry, replacing an older one. Readers, even in other processes, see a complete entry
/// or none. Reports problems, once per process. Then removes the least recently used entries beyond
/// a total of `limit` bytes, and temporary files of killed writers.
void write_entry(const std::string& directory, const std::string& key, const Compiled& compiled,
                 std::uint64_t limit = cache_limit()) noexcept;
std::string entry_path(const std::string& directory, const std::string& key);

}  // namespace heddle::detail
