#include "core/launch/found_views.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/base/errors.hpp"
#include "core/memory/block_index.hpp"
#include "core/memory/block_slabs.hpp"
#include <heddle/launch/detail/span_arguments.hpp>
#include <heddle/memory/view.hpp>

namespace heddle::detail {

namespace {

/// The 64-bit words of an object.
class Words {
public:
    Words(const void* object, std::size_t bytes) noexcept
        : bytes_(static_cast<const std::byte*>(object)), count_(bytes / sizeof(std::uint64_t)) {}
    std::size_t count() const noexcept { return count_; }
    std::uint64_t operator[](std::size_t i) const noexcept {
        std::uint64_t word;
        std::memcpy(&word, bytes_ + i * sizeof word, sizeof word);
        return word;
    }

private:
    const std::byte* bytes_;
    std::size_t count_;
};

/// If word i is the owner word of a view, sets `to` to that view and returns the view's length in
/// words. Otherwise returns 0.
[[gnu::noinline]] std::size_t view_at(const Words& words, std::size_t i,
                                      MemoryArgument& to) noexcept {
    const OwnerWord owner(words[i]);
    Block* const block = owner.block();
    if (!is_block(block)) return 0;
    const std::uint64_t size = words[i - 1];
    const auto* const data = reinterpret_cast<const void*>(words[i - 2]);
    std::size_t element = owner.element(), bytes = 0;
    if (element == 0 || __builtin_mul_overflow(size, element, &bytes) ||
        !holds(*block, data, bytes))
        return 0;
    // The owner word of a view with large elements stores only a lower bound of their size. So the
    // view counts as all memory from its pointer on, unless it is empty.
    if (element == OwnerWord::large) {
        const auto offset =
            reinterpret_cast<std::uintptr_t>(data) - reinterpret_cast<std::uintptr_t>(block->data);
        if (size != 0) bytes = block->bytes - offset;
        element = 0;
    }
    to = {{data, bytes}, block, static_cast<std::uint32_t>(element), 0, !owner.is_const()};
    to.is_found = true;
    to.offset = static_cast<std::uint32_t>((i - 2) * sizeof(std::uint64_t));
    if (!owner.is_rectangle() || i + 3 >= words.count() || element == 0) return 3;
    const std::uint64_t rows = words[i + 1], columns = words[i + 2], pitch = words[i + 3];
    if (rows == 0 || columns == 0) to.bytes = 0;
    else if (rows <= size && columns <= pitch && pitch <= size &&
             (rows - 1) * pitch + columns <= size) {
        to.bytes = columns * element;
        to.pitch = pitch * element;
        to.rows = rows;
    }
    return 6;
}

}  // namespace

MemoryArgument* find_views(const void* object, std::size_t bytes, std::int8_t argument,
                           MemoryArgument* to) noexcept {
    const Words words(object, bytes);
    for (std::size_t i = 2; i < words.count(); ++i) {
        if (!OwnerWord(words[i]).may_be_owned()) [[likely]]
            continue;
        const std::size_t length = view_at(words, i, *to);
        if (length == 0) continue;
        to->argument = argument;
        ++to;
        i += length - 1;  // the next owner word is at least three words later
    }
    return to;
}

namespace {
/// Returns whether a word may be an address. Excludes small numbers, floating-point numbers, and
/// pairs of 32-bit numbers whose second one is not small.
bool may_be_address(std::uint64_t word) noexcept { return word >= 4096 && word >> 48 == 0; }

/// Calls found(word) for each word that may be an address, and watched() for each view that other
/// threads or devices may poll.
template <class Found, class Watched>
void search(const OpaquePart& part, const Found& found, const Watched& watched) {
    std::vector<MemoryArgument> views(part.bytes / sizeof(View<char>) + 1);
    MemoryArgument* next = views.data();
    const MemoryArgument* const end = find_views(part.object, part.bytes, part.argument, next);
    const Words words(part.object, part.bytes);
    for (std::size_t i = 0; i < words.count(); ++i) {
        if (next != end && i == next->offset / sizeof(std::uint64_t)) {
            if (OwnerWord(words[i + 2]).is_watched()) watched();
            i += 2;
            ++next;
        } else if (may_be_address(words[i])) {
            found(reinterpret_cast<const void*>(words[i]));
        }
    }
}

/// Searches all parts of a kernel's closure in the same way.
template <class Found, class Watched>
void search(const WorkType& type, const void* closure, const Found& found, const Watched& watched) {
    if (type.opaque_parts == 0 || type.kernel == KernelKind::none) return;
    std::vector<OpaquePart> parts(type.opaque_parts);
    type.opaque(closure, parts.data());
    for (const OpaquePart& part : parts) search(part, found, watched);
}
}  // namespace

Undeclared undeclared_in(const WorkType& type, const void* closure) {
    Undeclared held;
    search(
        type, closure,
        [&](const void* address) {
            if (held.pointers < Undeclared::most_kept) held.kept[held.pointers] = address;
            ++held.pointers;
        },
        [&] { held.is_watched = true; });
    return held;
}

std::vector<const void*> addresses_in(const WorkType& type, const void* closure) {
    std::vector<const void*> found;
    search(type, closure, [&](const void* address) { found.push_back(address); }, [] {});
    return found;
}

bool may_signal(const WorkType& type, const Undeclared& held, Device device) noexcept {
    if (type.signals != Signals::on_host) return type.signals == Signals::yes;
    // The closure of a host function is not searched, so only its type counts.
    if (type.kernel == KernelKind::none) return type.may_signal(device);
    return held.is_watched || (held.pointers != 0 && device.is_cpu());
}

HostMemory::HostMemory(const WorkType& type, const void* closure,
                       std::span<const MemoryArgument> declared)
    : all_(declared) {
    if (type.opaque_parts == 0) return;
    OpaquePart part;
    type.opaque(closure, &part);
    const std::size_t most = part.bytes / sizeof(View<char>) + declared.size();
    MemoryArgument* const first =
        most <= std::size(few_.all) ? few_.all : (many_.resize(most), many_.data());
    MemoryArgument* const end = find_views(part.object, part.bytes, part.argument, first);
    if (end == first) return;
    MemoryArgument* const kept = std::remove_if(first, end, [&](const MemoryArgument& one) {
        return std::ranges::count(declared, one.block, &MemoryArgument::block) != 0;
    });
    all_ = {first, std::ranges::copy(declared, kept).out};
}

namespace {
[[noreturn]] void throw_dead_view(const MemoryArgument& memory, const char* call,
                                  const SourceLocation& where) {
    if (!memory.is_found) throw_dead_block(*memory.block, call, where, memory.argument + 1);
    usage_error({call, where},
                "{} contains, at byte {}, a view whose array no longer exists: keep the array "
                "until the last use of its views (if the view is unused, assign View() to it, or "
                "list the other views in views())",
                memory.argument >= 0 ? formatted("argument {}", memory.argument + 1)
                                     : std::string("the function object"),
                memory.offset);
}
}  // namespace

namespace {
[[noreturn]] void throw_beyond_array(const MemoryArgument& memory, const SourceLocation& where) {
    usage_error({"launch", where},
                "argument {} is a span of {} bytes, but only {} bytes of its array are left from "
                "its first element on: pass a span within the array",
                memory.argument + 1, memory.bytes,
                reinterpret_cast<std::uintptr_t>(memory.block->data) + memory.block->bytes -
                    memory.address());
}
}  // namespace

void find_owners(MemoryArgument* first, const MemoryArgument* end,
                 const SourceLocation& where) try {
    for (MemoryArgument* one = first; one != end; ++one) {
        if (!one->is_by_address || one->data == nullptr || one->bytes == 0) continue;
        one->block = find_block(one->data);
        if (one->block != nullptr && !holds(*one->block, one->data, one->bytes)) [[unlikely]]
            throw_beyond_array(*one, where);
    }
} catch (...) {
    rethrow_as_error("launch", where);
}

void check_alive(const MemoryArgument& memory, const char* call, const SourceLocation& where) {
    const Block* const block = memory.block;
    if (block != nullptr && (!block->alive.load(std::memory_order_acquire) ||
                             !holds(*block, memory.data, memory.extent()))) [[unlikely]]
        throw_dead_view(memory, call, where);
}

void check_memory(const MemoryArgument& memory, const StreamState& stream,
                  const SourceLocation& where) {
    check_alive(memory, "launch", where);
    // A kernel may hold views for other devices, which it does not use on this one.
    if (!memory.is_found) check_reach(memory.block, stream, where, memory.argument + 1);
}

}  // namespace heddle::detail
