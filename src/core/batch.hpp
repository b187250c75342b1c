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

    /// Launches the tape on `origin`, and leaves another tape to record on in its place.
    void launch(std::shared_ptr<Tape>& tape, StreamRecord& origin, const SourceLocation& where);
    std::size_t size() const noexcept { return entries_.size(); }
    void clear() noexcept { entries_.clear(); }

    BatchResult last;
    bool open = false;
    bool on_cpu;

private:
    struct Entry {
        std::shared_ptr<Tape> tape;    ///< what the graph runs now
        std::shared_ptr<Tape> before;  ///< and what it ran before the last change
        std::shared_ptr<GraphExec> exec;
    };
    Entry* find(const Tape& tape);
    void update(Entry& entry, std::shared_ptr<Tape>& tape, const SourceLocation& where);
    Entry& instantiate(std::shared_ptr<Tape>& tape, StreamRecord& origin, const SourceLocation& where);
    std::shared_ptr<Tape> blank();

    std::size_t remembered_;
    std::vector<Entry> entries_;  ///< newest use last
    std::vector<std::shared_ptr<Tape>> tapes_;
    NodeData scratch_;
};

}  // namespace heddle::detail
