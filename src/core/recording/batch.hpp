// The memory of a Batch: the tapes of earlier runs, and the graphs made of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <heddle/recording/batch.hpp>

#include "core/graph/exec.hpp"
#include "core/graph/shape.hpp"
#include "core/recording/tape.hpp"
#include "core/stream/elsewhere.hpp"

namespace heddle::detail {

/// The state of a Batch: remembered tapes, each with the graph made of it.
class BatchRun {
public:
    explicit BatchRun(BatchOptions options)
        : on_cpu(options.on_cpu), remembered_(std::max<std::size_t>(1, options.remembered)) {}

    struct Launch {
        std::span<StreamPart> parts;
        std::span<const PartBegin> begins;
        std::span<PartMark> marks;
    };
    /// Launches the tape on the stream of the first part, and leaves an empty tape in its place.
    /// `recording` is the recorder's id. Moves objects that must be destroyed, perhaps with users'
    /// closures, to `garbage`, which must have room. If it throws, the tape is unchanged and no
    /// work has been enqueued.
    void launch(TapeOwner& tape, const Launch& what, std::uint64_t recording,
                const SourceLocation& where, std::vector<std::shared_ptr<void>>& garbage);
    std::size_t size() const noexcept { return entries_.size(); }
    void clear() noexcept { entries_.clear(); }

    BatchResult last;
    bool open = false;  ///< whether a ScopedBatch uses it
    /// That scope's recorder. Other threads may launch meanwhile, with its lock held; they do not
    /// read this.
    class BatchRecorder* recorder = nullptr;
    bool on_cpu;

    /// Call them when a scope begins to record and when it has ended.
    void begin_scope(StreamRecord& stream, const SourceLocation& where);
    void end_scope() noexcept;
    /// Reports that no scope recorded any work, if work was enqueued on other streams meanwhile.
    void report_useless() noexcept;

private:
    struct Entry {
        TapeOwner tape;    ///< the work that the graph runs now
        TapeOwner before;  ///< its work before the last update
        std::shared_ptr<GraphExec> exec;
        /// For observers; null if no observer was present so far.
        std::shared_ptr<const ShapeData> shape;

        void drop(std::vector<std::shared_ptr<void>>& garbage) noexcept;
    };
    /// How a launch got its graph.
    struct Way {
        BatchResult::How how;
        const char* why;
        std::size_t changed;  ///< number of changed operations
    };
    void reuse(Entry& made, Way& way, const TapeOwner& tape, const SourceLocation& where,
               std::vector<std::shared_ptr<void>>& garbage);
    void tell_launch(Entry& entry, StreamRecord& origin, std::uint64_t recording,
                     const SourceLocation& where) noexcept;
    /// Moves the entry that fits best to the end. Returns false if there is none.
    bool find(const Tape& tape) noexcept;
    std::size_t update(Entry& entry, const TapeOwner& tape, const SourceLocation& where);

    std::size_t remembered_;
    std::vector<Entry> entries_;  ///< least recently used first

    // Used until a scope has recorded work.
    bool has_recorded_ = false;
    std::size_t scopes_ = 0;
    Elsewhere elsewhere_;
    StreamRecord* stream_ = nullptr;
    std::string missed_;        ///< a stream with work that a scope did not record; or empty
    std::string missed_by_;     ///< the stream of that scope
    SourceLocation missed_at_;  ///< that scope
    NodeData scratch_;
};

}  // namespace heddle::detail
