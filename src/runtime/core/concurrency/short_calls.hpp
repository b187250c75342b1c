// Finds calls with operations so short that waits for other streams cost more than they save.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <heddle/location.hpp>

namespace heddle::detail {

/// Calls, identified by their place in the program and the size of their memory, because the same
/// line may enqueue long and short operations. A call counts as short only if its operations are
/// known to be short. Not thread-safe.
class ShortCalls {
public:
    using Index = std::uint8_t;

    /// Returns the call's index. Evicts a different call that has the same index.
    Index find(const SourceLocation& where, std::size_t bytes) noexcept {
        const auto size = static_cast<std::uint32_t>(std::bit_width(bytes));
        const Call call{where.file, where.line, size, false};
        const std::size_t hash = reinterpret_cast<std::uintptr_t>(where.file) / 8 +
                                 std::size_t{where.line} * 31 + std::size_t{size} * 7;
        const auto index = static_cast<Index>(hash % calls_.size());
        Call& known = calls_[index];
        if (known.file != call.file || known.line != call.line || known.size != call.size)
            known = call;
        return index;
    }
    bool is_short(Index call) const noexcept { return calls_[call].is_short; }
    void set_short(Index call, bool is_short) noexcept { calls_[call].is_short = is_short; }

private:
    struct Call {
        const char* file = nullptr;
        std::uint32_t line = 0, size = 0;
        bool is_short = false;
    };
    std::array<Call, 64> calls_;
};

/// The calls of consecutive operations on a stream, and the time when the first was enqueued. Once
/// the last operation has completed, the time since the first was enqueued is an upper bound of
/// each operation's duration.
class CallWindow {
public:
    /// Adds a call. Returns whether the window is now full. Until its calls are known to be short,
    /// a window holds half as many calls; longer windows cost less.
    bool add(ShortCalls::Index call, bool is_short) noexcept {
        calls_[count_++] = call;
        return count_ >= (is_short ? calls_.size() : calls_.size() / 2);
    }
    /// Sets the position of the last operation.
    void end(std::uint64_t position) noexcept { last_ = position; }
    /// Empties the window. `now` is in ns.
    void start(std::int64_t now) noexcept {
        count_ = 0;
        began_ = now;
    }
    /// If the stream has not reached the window's last operation, marks the window's calls as not
    /// short. If it has reached the operation within 10 us of start(), marks them as short.
    /// Otherwise has no effect: other calls may have taken the time.
    void judge(ShortCalls& calls, std::uint64_t reached, std::int64_t now) const noexcept {
        // In this time, a stream completes twice as many calls as a window holds, if each call
        // takes as long as a wait for another stream.
        constexpr std::int64_t longest_ns = 10'000;
        const bool is_done = reached >= last_;
        if (is_done && now - began_ > longest_ns) return;
        for (std::size_t i = 0; i < count_; ++i) calls.set_short(calls_[i], is_done);
    }

private:
    std::array<ShortCalls::Index, 16> calls_{};
    std::size_t count_ = 0;
    std::uint64_t last_ = 0;
    std::int64_t began_ = 0;
};

}  // namespace heddle::detail
