#include "core/stream/lend.hpp"

#include <vector>

#include "core/operation/host_access.hpp"
#include "core/stream/submit.hpp"
#include "core/stream/usable.hpp"

namespace heddle::detail {

namespace {

void check_memory_of(const OpenLoan& loan, std::span<const MemoryArgument> memory) try {
    check_usable(loan.stream, loan.call, loan.where);
    for (const MemoryArgument& one : memory) check_memory(one, loan.stream, loan.where);
} catch (...) {
    rethrow_as_error(loan.call, loan.where, "launch");
}

[[gnu::cold, gnu::noinline]] void begin_recorded(OpenLoan& loan,
                                                 std::span<const MemoryArgument> memory) try {
    loan.recorded = begin_recorded_loan(loan.stream, loan.call, memory, loan.where);
} catch (...) {
    loan.stream.flags.fetch_sub(stream_flag::one_loan, std::memory_order_release);
    throw;
}

[[gnu::cold, gnu::noinline]] void tell_loan(const OpenLoan& loan,
                                            std::span<const MemoryArgument> memory) noexcept {
    const Operation operation{OpKind::native, loan.call, loan.call, loan.where, memory.size()};
    tell(loan.stream, operation, loan.recorded.recording != 0, [&](OpInfo& op, auto&& tell) {
        std::vector<OpAccess> accesses;
        accesses.reserve(memory.size());
        for (const MemoryArgument& one : memory) {
            if (one.data == nullptr) continue;
            const AccessMode mode = one.writes ? AccessMode::read_write : AccessMode::read;
            accesses.push_back(access_of(one, one.block, mode, one.element));
            accesses.back().argument = one.argument;
        }
        op.accesses = accesses;
        op.holds_pointers = memory.empty();
        tell();
    });
}

}  // namespace

bool begin_lend(OpenLoan& loan, std::span<const MemoryArgument> memory) {
    StreamRecord& stream = loan.stream;
    check_memory_of(loan, memory);
    if (admit(stream, loan.call, memory, loan.where) == Admission::dropped) [[unlikely]]
        return false;
    open_loan(loan, memory);
    return true;
}

void open_loan(OpenLoan& loan, std::span<const MemoryArgument> memory) {
    StreamRecord& stream = loan.stream;
    loan.key = stream.key.load(std::memory_order_relaxed);
    // Sequentially consistent, like the flags of recorders: if a loan and a recorder begin at the
    // same time, at least one of the two threads sees the flag of the other.
    if ((stream.flags.fetch_add(stream_flag::one_loan) & stream_flag::recording) != 0) [[unlikely]]
        begin_recorded(loan, memory);
}

void end_lend(const OpenLoan& loan, std::span<const MemoryArgument> memory) {
    if (close_loan(loan) && is_noted()) [[unlikely]]
        tell_loan(loan, memory);
}

bool close_loan(const OpenLoan& loan) {
    StreamRecord& stream = loan.stream;
    // If the stream has ended, the flags and submissions may belong to another stream.
    if (stream.key.load(std::memory_order_relaxed) != loan.key || stream.has(stream_flag::dead))
        [[unlikely]]
        return false;
    if (loan.recorded.recording != 0) [[unlikely]]
        return end_recorded_loan(stream, loan.recorded, loan.where);
    stream.backend->count_native(stream);
    stream.flags.fetch_sub(stream_flag::one_loan, std::memory_order_release);
    return true;
}

}  // namespace heddle::detail
