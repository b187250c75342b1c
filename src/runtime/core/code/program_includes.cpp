// Finds the files that a source can include, so that the cache notices when one of them has
// changed.
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "core/code/program_cache.hpp"

namespace heddle::detail {

namespace {

/// Returns the values of an option, written "-Ipath", "-I=path" or "-I path", as one word or two.
std::vector<std::string> values_of(const std::vector<std::string>& options,
                                   std::string_view option) {
    std::vector<std::string> found;
    for (std::size_t i = 0; i < options.size(); ++i) {
        std::string_view text = options[i];
        if (!text.starts_with(option)) continue;
        text.remove_prefix(option.size());
        const bool is_short = option == "-I";
        if (text.empty() && i + 1 < options.size()) found.push_back(options[i + 1]);
        else if (text.starts_with('=')) found.emplace_back(text.substr(1));
        else if (text.starts_with(' '))
            found.emplace_back(text.substr(text.find_first_not_of(' ')));
        else if (is_short && !text.empty()) found.emplace_back(text);
    }
    return found;
}

struct Include {
    std::string name;
    bool quoted = false;
};

/// Finds all #include lines, even in conditions and comments. Returns false if only a preprocessor
/// can read one of them.
bool find_includes(std::string_view text, std::vector<Include>& found) {
    const auto skip = [&](std::size_t at) {
        while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
        return at;
    };
    for (std::size_t at = text.find('#'); at != std::string_view::npos;
         at = text.find('#', at + 1)) {
        const std::size_t word = skip(at + 1);
        if (!text.substr(word).starts_with("include")) continue;
        std::size_t name = word + 7;
        if (text.substr(word).starts_with("include_next")) name = word + 12;
        name = skip(name);
        if (name >= text.size()) continue;
        const char open = text[name];
        if (open != '"' && open != '<') {
            const std::size_t line =
                text.rfind('\n', at) == std::string_view::npos ? 0 : text.rfind('\n', at) + 1;
            if (skip(line) == at) return false;  // #include MACRO
            continue;                            // in a string or a comment
        }
        const std::size_t end = text.find_first_of(open == '"' ? "\"\n" : ">\n", name + 1);
        if (end == std::string_view::npos || text[end] == '\n') continue;
        found.push_back({std::string(text.substr(name + 1, end - name - 1)), open == '"'});
    }
    return true;
}

bool read_file(const std::filesystem::path& path, std::string& text) {
    std::error_code failed;
    if (!std::filesystem::is_regular_file(path, failed)) return false;
    std::ifstream file(path, std::ios::binary);
    if (!file) return false;
    text.assign(std::istreambuf_iterator<char>(file), {});
    return true;
}

/// Names to search for, each with the folder of the file that includes it.
struct Search {
    std::deque<std::pair<Include, std::filesystem::path>> open;

    /// Adds the includes of a text. Returns the result of find_includes().
    bool add(const std::string& text, const std::filesystem::path& folder) {
        std::vector<Include> found;
        if (!find_includes(text, found)) return false;
        for (Include& include : found) open.emplace_back(std::move(include), folder);
        return true;
    }
};

}  // namespace

std::optional<std::string> included_files(const std::string& source,
                                          const ProgramOptions& options) {
    namespace fs = std::filesystem;
    std::vector<std::string> folders;
    for (const char* option : {"-I", "--include-path"})
        for (std::string& folder : values_of(options.options, option))
            folders.push_back(std::move(folder));

    Search search;
    const fs::path source_folder = fs::path(options.name).parent_path();
    for (const char* option : {"-include", "--pre-include"})
        for (std::string& name : values_of(options.options, option))
            search.open.emplace_back(Include{std::move(name), true}, source_folder);
    if (!search.add(source, source_folder)) return std::nullopt;
    for (const auto& [name, text] : options.headers)
        if (!search.add(text, source_folder)) return std::nullopt;

    // Lists every file that the name may refer to, because only the compiler knows which one it
    // includes.
    std::set<std::string> included;
    std::map<std::string, std::string> files;
    while (!search.open.empty()) {
        const auto [include, from] = std::move(search.open.front());
        search.open.pop_front();
        std::vector<fs::path> candidates{from / include.name};
        for (const std::string& folder : folders)
            candidates.push_back(fs::path(folder) / include.name);
        for (const fs::path& candidate : candidates) {
            const std::string path = candidate.lexically_normal().string();
            std::string text;
            if (!included.insert(path).second || !read_file(candidate, text)) continue;
            files[path] = hex_of(hash_text(text));
            if (!search.add(text, candidate.parent_path())) return std::nullopt;
        }
    }
    std::string all;
    for (const auto& [path, hash] : files) all += path + ' ' + hash + '\n';
    return all;
}

}  // namespace heddle::detail
