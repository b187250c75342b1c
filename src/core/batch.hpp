// A batch's memory: what it ran at earlier times, and the graphs of that.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include <heddle/batch.hpp>

#include "core/graph.hpp"
#include "core/tape.hpp"

namespace heddle::detail {

/// A batch's memory: tapes with the graphs that were made of them.
class BatchRun {
public:
    explicit BatchRun(BatchOptions options)
        : on_cpu(options.on_cpu), remembered_(std::max<std::size_t>(1, options.remembered)) {}

    /// Launches the tape on `origin`, and leaves an empty tape in its place. What is to be destroyed, perhaps with closures of the user's,
    /// goes to `garbage`, which has room for it. If it throws, the tape is as it was.
    void launch(std::shared_ptr<Tape>& tape, StreamRecord& origin, const SourceLocation& where,
                std::vector<std::shared_ptr<void>>& garbage);
    std::size_t size() const noexcept { return entries_.size(); }
    void clear() noexcept { entries_.clear(); }

    BatchResult last;
    bool open = false;  ///< a ScopedBatch uses it
    class BatchRecorder* recorder =
        nullptr;  ///< of that scope: other threads may launch meanwhile, under its lock
    bool on_cpu;

private:
    struct Entry {
        std::shared_ptr<Tape> tape;    ///< what the graph runs now
        std::shared_ptr<Tape> before;  ///< and what it ran before the last change
        std::shared_ptr<GraphExec> exec;
    };
    Entry* find(const Tape& tape);
    void update(Entry& entry, const std::shared_ptr<Tape>& tape, const SourceLocation& where);
    void drop(std::size_t index, std::vector<std::shared_ptr<void>>& garbage) noexcept;

    std::size_t remembered_;
    std::vector<Entry> entries_;  ///< newest use last
    NodeData scratch_;
};

}  // namespace heddle::detail
