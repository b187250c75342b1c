// The memory of a Batch: the tapes of earlier runs, and the graphs made from them.
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

/// The state of a Batch: remembered tapes, each with the graph made from it.
class HEDDLE_HIDDEN BatchRun {
public:
    explicit BatchRun(BatchOptions options)
        : on_cpu(options.on_cpu), flush_after(options.flush_after),
          remembered_(std::max<std::size_t>(1, options.remembered)) {}

    struct Launch {
        std::span<StreamPart> parts;
        std::span<const PartBegin> begins;
        std::span<PartMark> marks;
    };
    /// Launches the tape on the stream of the first part, and replaces it with an empty tape.
    /// `recording` is the recorder's id. Some objects may contain users' closures and must be
    /// destroyed later: moves them to `garbage`, which must have room for them. If this function
    /// throws, the tape is unchanged and no work has been enqueued.
    void launch(TapeOwner& tape, const Launch& what, std::uint64_t recording,
                const SourceLocation& where, std::vector<std::shared_ptr<void>>& garbage);
    std::size_t size() const noexcept { return entries_.size(); }
    void clear() noexcept { entries_.clear(); }

    BatchResult last;
    bool open = false;  ///< whether a ScopedBatch uses it
    /// The recorder of that ScopedBatch. Other threads may launch the tape with the recorder's lock
    /// held, but they do not read this member.
    class BatchRecorder* recorder = nullptr;
    bool on_cpu;
    std::size_t flush_after;
    /// The most graphs that BatchOptions::flush_after has made of a scope.
    std::size_t parts = 1;

    /// To be called when a scope begins to record, and when it has ended.
    void begin_scope(StreamRecord& stream, const SourceLocation& where);
    void end_scope() noexcept;
    /// Reports a useless batch: no scope has recorded any work, although work was enqueued on other
    /// streams.
    void report_useless() noexcept;

private:
    struct Entry {
        TapeOwner tape;    ///< the work that the graph contains now
        TapeOwner before;  ///< the graph's work before the last update
        std::shared_ptr<GraphExec> exec;
        /// For observers. Null until an observer was present.
        std::shared_ptr<const ShapeData> shape;

        void drop(std::vector<std::shared_ptr<void>>& garbage) noexcept;
    };
    /// BatchOutcome a launch got its graph.
    struct Way {
        BatchOutcome outcome;
        const char* why;
        std::size_t changed;  ///< number of changed operations
    };
    void reuse(Entry& made, Way& way, const TapeOwner& tape, const SourceLocation& where,
               std::vector<std::shared_ptr<void>>& garbage);
    void tell_launch(Entry& entry, StreamRecord& origin, std::uint64_t recording,
                     const SourceLocation& where) noexcept;
    /// Finds the entry that fits best, and moves it to the end. Returns false if none fits.
    bool find(const Tape& tape) noexcept;
    std::size_t update(Entry& entry, const TapeOwner& tape, const SourceLocation& where);

    std::size_t remembered_;
    std::vector<Entry> entries_;  ///< ordered by last use, the most recent last

    // For report_useless(): these members are updated until a scope has recorded work.
    bool has_recorded_ = false;
    std::size_t scopes_ = 0;
    Elsewhere elsewhere_;
    StreamRecord* stream_ = nullptr;
    std::string missed_;        ///< name of a stream whose work a scope did not record, or empty
    std::string missed_by_;     ///< name of the stream on which that scope began
    SourceLocation missed_at_;  ///< where that scope began
    NodeData scratch_;
};

}  // namespace heddle::detail
