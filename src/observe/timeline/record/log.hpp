// The records of one thread, with caches that make recording fast.
#pragma once

#include <cstdint>
#include <string>

#include "timeline/record/slots.hpp"
#include "timeline/record/tables.hpp"

namespace heddle::detail {

/// The tables and limits shared by all threads of a recording.
struct RecordTables {
    StringTable strings;
    StreamRows streams{strings};
    GraphTable graphs{strings};
    EntryLimit ops, runs, clocks, ranges;
};

/// One thread's part of a recording. Only that thread writes it. Another thread may read it at the
/// same time.
class ThreadLog {
public:
    ThreadLog(RecordTables& tables, std::string name)
        : name_(std::move(name)), tables_(tables), ops_(tables.ops), runs_(tables.runs),
          clocks_(tables.clocks), ranges_(tables.ranges) {}

    /// Each add() may throw std::bad_alloc; then no part of the entry is added.
    void add(const OpInfo& op, bool with_accesses);
    void add(const OpRun& run);
    void add(const ClockReading& reading);
    void add_range(std::int64_t begin_ns, std::int64_t end_ns, std::string_view name);

    const std::string& name() const noexcept { return name_; }
    const SlotList& ops() const noexcept { return ops_; }
    const SlotList& runs() const noexcept { return runs_; }
    const SlotList& clocks() const noexcept { return clocks_; }
    const SlotList& ranges() const noexcept { return ranges_; }
    /// Returns the number of operations recorded so far. Includes operations that were dropped to
    /// make room for later ones.
    std::uint64_t op_count() const noexcept { return op_count_.load(std::memory_order_relaxed); }

private:
    /// Caches indices by the addresses of texts.
    class Lately {
    public:
        /// Names of operations are never unloaded, so an address always refers to the same text.
        TraceIndex index_of_name(const char* name, StringTable& strings);
        /// The name of a file may be unloaded with its library. Then another text may have its
        /// address.
        TraceIndex index_of_file(const char* file, StringTable& strings);

    private:
        struct One {
            const char* address = nullptr;
            StringTable::Kept kept{0, ""};
        };
        One& place_of(const char* text) noexcept;
        One all_[64];
    };
    TraceIndex index_of(StreamRef stream);

    const std::string name_;
    RecordTables& tables_;
    SlotList ops_, runs_, clocks_, ranges_;
    std::atomic<std::uint64_t> op_count_{0};
    Lately lately_;
    struct SeenStream {
        std::uint64_t id = 0;
        TraceIndex index = 0;
    };
    SeenStream streams_[16];
};

}  // namespace heddle::detail
