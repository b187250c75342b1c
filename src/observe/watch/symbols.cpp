#include "watch/symbols.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <link.h>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "core/base/format.hpp"

namespace heddle::detail {

namespace {

/// A file that is read at arbitrary offsets.
class ElfFile {
public:
    explicit ElfFile(const char* path) : file_(open(path, O_RDONLY | O_CLOEXEC)) {}
    ~ElfFile() {
        if (file_ >= 0) close(file_);
    }
    ElfFile(const ElfFile&) = delete;
    ElfFile& operator=(const ElfFile&) = delete;

    /// Reads up to `bytes` bytes at `offset`. Returns the number of bytes that were read.
    std::size_t read_some(void* to, std::size_t bytes, std::size_t offset) const noexcept {
        if (file_ < 0) return 0;
        const auto got = pread(file_, to, bytes, static_cast<off_t>(offset));
        return got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    template <class T> bool read(std::span<T> to, std::size_t offset) const noexcept {
        return read_some(to.data(), to.size_bytes(), offset) == to.size_bytes();
    }
    /// Returns the text up to the terminating null. Returns an empty text if there is no null.
    std::string read_text(std::size_t offset) const {
        constexpr std::size_t longest = 1 << 16;
        std::string text;
        for (char part[512]; text.size() < longest;) {
            const std::size_t got = read_some(part, sizeof part, offset + text.size());
            const std::size_t size = strnlen(part, got);
            text.append(part, size);
            if (size < got) return text;
            if (got == 0) break;
        }
        return {};
    }

private:
    int file_;
};

using FileHeader = ElfW(Ehdr);
using Section = ElfW(Shdr);
using Symbol = ElfW(Sym);

void look_up_in(const ElfFile& file, const Section& table, const Section& names,
                std::span<LookedUp> addresses) {
    constexpr std::size_t at_once = 4096;
    std::vector<Symbol> symbols(at_once);
    const std::size_t count = table.sh_size / sizeof(Symbol);
    for (std::size_t first = 0; first < count; first += at_once) {
        const std::span<Symbol> some(symbols.data(), std::min(at_once, count - first));
        if (!file.read(some, table.sh_offset + first * sizeof(Symbol))) return;
        for (const Symbol& one : some) {
            if ((one.st_info & 0xf) != STT_FUNC || one.st_shndx == SHN_UNDEF) continue;
            for (LookedUp& wanted : addresses)
                if (wanted.address - one.st_value < one.st_size && wanted.function.empty()) {
                    wanted.function = file.read_text(names.sh_offset + one.st_name);
                    wanted.begin = one.st_value;
                }
        }
    }
}

}  // namespace

void look_up_in_file(const char* path, const void* loaded, std::span<LookedUp> addresses) {
    const ElfFile file(path);
    FileHeader header;
    // Compares the file's header with the one in memory: rebuilding the file changes the header.
    if (!file.read(std::span(&header, 1), 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        std::memcmp(&header, loaded, sizeof header) != 0)
        return;
    std::vector<Section> sections(header.e_shnum);
    if (header.e_shentsize != sizeof(Section) || !file.read(std::span(sections), header.e_shoff))
        return;
    for (const Section& one : sections)
        if (one.sh_type == SHT_SYMTAB && one.sh_link < sections.size())
            look_up_in(file, one, sections[one.sh_link], addresses);
}

namespace {

constexpr std::string_view opening = "<({[", closing = ">)}]";
bool is_one_of(char c, std::string_view all) { return all.find(c) != std::string_view::npos; }

/// Returns where the name that ends before `end` begins. A name begins after an open bracket, a
/// comma or a space.
std::size_t begin_of_name(std::string_view text, std::size_t end) {
    int depth = 0;
    for (std::size_t i = end; i-- > 0;) {
        if (is_one_of(text[i], closing)) ++depth;
        else if (is_one_of(text[i], opening) && --depth < 0) return i + 1;
        else if (depth == 0 && (text[i] == ' ' || text[i] == ',')) return i + 1;
    }
    return 0;
}
/// Same as begin_of_name(), but includes the return type.
std::size_t begin_with_type(std::string_view text, std::size_t end) {
    std::size_t begin = begin_of_name(text, end);
    while (begin > 1 && text[begin - 1] == ' ' && text[begin - 2] != ',')
        begin = begin_of_name(text, begin - 1);
    return begin;
}

/// Returns the end of the bracket that opens at `at`. Returns npos if it is never closed.
std::size_t end_of_bracket(std::string_view text, std::size_t at) {
    int depth = 0;
    for (std::size_t i = at; i < text.size(); ++i) {
        if (is_one_of(text[i], opening)) ++depth;
        if (is_one_of(text[i], closing) && --depth == 0) return i + 1;
    }
    return std::string_view::npos;
}

bool remove_end(std::string_view& text, std::string_view end) {
    if (!text.ends_with(end)) return false;
    text.remove_suffix(end.size());
    return true;
}

/// Returns "W::run()" for "W::run(int) const", and "main()" for "main".
std::string function_words(std::string_view name) {
    (void)remove_end(name, " const");
    if (name.ends_with(')')) {
        int depth = 0;
        std::size_t i = name.size();
        while (i-- > 0) {
            if (name[i] == ')') ++depth;
            if (name[i] == '(' && --depth == 0) break;
        }
        name = name.substr(0, std::min(i, name.size()));
    }
    constexpr std::string_view nameless = "(anonymous namespace)::";
    if (name.starts_with(nameless)) name.remove_prefix(nameless.size());
    return formatted("{}()", name);
}

/// The part of a name that stands for a lambda: "{lambda(int)#1}", "$_0" or "'lambda0'(int)".
struct LambdaPart {
    std::size_t begin = std::string_view::npos, end = 0;
    std::string_view number = {};  ///< number among the function's lambdas; empty if unknown
};

/// Finds the last lambda in the text. `begin` is npos if there is none.
LambdaPart find_lambda(std::string_view text) {
    constexpr std::size_t none = std::string_view::npos;
    if (const std::size_t at = text.rfind("::{lambda("); at != none) {
        const std::size_t end = end_of_bracket(text, at + 2);
        if (end == none) return {};
        const std::size_t number = text.substr(0, end).rfind('#');
        if (number == none || number < at) return {at, end, {}};
        return {at, end, text.substr(number + 1, end - number - 2)};
    }
    if (const std::size_t at = text.rfind("::$_"); at != none)
        return {at, std::min(text.find_first_not_of("0123456789", at + 4), text.size()), {}};
    if (const std::size_t at = text.rfind("::'lambda"); at != none)
        if (const std::size_t bracket = text.find('(', at); bracket != none)
            if (const std::size_t end = end_of_bracket(text, bracket); end != none)
                return {at, end, {}};
    return {};
}

/// Removes the lambda's call operator, "::operator()<int>(int) const", from the beginning.
std::string_view without_call(std::string_view text) {
    constexpr std::string_view call = "::operator()", constant = " const";
    if (!text.starts_with(call)) return text;
    std::string_view rest = text.substr(call.size());
    for (const char bracket : {'<', '('})
        if (rest.starts_with(bracket)) {
            const std::size_t end = end_of_bracket(rest, 0);
            if (end == std::string_view::npos) return text;
            rest.remove_prefix(end);
        }
    if (rest.starts_with(constant)) rest.remove_prefix(constant.size());
    return rest;
}

/// Returns the text with lambdas in readable form, for example "lambda #1 in main()".
std::string with_lambdas(std::string text) {
    for (LambdaPart part = find_lambda(text); part.begin != std::string_view::npos;
         part = find_lambda(text)) {
        const std::string_view all = text;
        std::string_view scope = all.substr(0, part.begin);
        (void)remove_end(scope, " const");
        const std::size_t begin = begin_with_type(scope, scope.size());
        scope.remove_prefix(begin_of_name(scope, scope.size()));
        const bool is_nested = find_lambda(scope).begin != std::string_view::npos;
        const std::string number = part.number.empty() ? "" : formatted(" #{}", part.number);
        text = formatted("{}lambda{} in {}{}", all.substr(0, begin), number,
                         is_nested ? with_lambdas(std::string(scope)) : function_words(scope),
                         without_call(all.substr(part.end)));
    }
    return text;
}

/// Returns the first of a template's arguments: the text before a comma or a closing bracket.
std::string_view first_argument(std::string_view arguments) {
    int depth = 0;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (is_one_of(arguments[i], opening)) ++depth;
        else if (is_one_of(arguments[i], closing) && --depth < 0) return arguments.substr(0, i);
        else if (depth == 0 && arguments[i] == ',') return arguments.substr(0, i);
    }
    return arguments;
}

}  // namespace

std::string readable_function(std::string name) {
    // The function of heddle that calls the kernel Relax has this name:
    // heddle::detail::PortableOp<Relax, 1, ...>::run(void*, unsigned long, unsigned long)
    std::string_view text = name;
    if (remove_end(text, "::run(void*, unsigned long, unsigned long)"))
        for (const std::string_view own :
             {"heddle::detail::HostFunction<", "heddle::detail::PortableOp<"})
            if (text.starts_with(own)) {
                const std::string_view kernel = first_argument(text.substr(own.size()));
                return find_lambda(kernel).begin != std::string_view::npos
                           ? with_lambdas(std::string(kernel))
                           : formatted("{}::operator()", kernel);
            }
    return with_lambdas(std::move(name));
}

}  // namespace heddle::detail
