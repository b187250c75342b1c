// What a Batch remembers: the tapes of earlier runs, and the graphs made of them.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include <heddle/recording/batch.hpp>

#include "core/graph/graph.hpp"
#include "core/recording/tape.hpp"

namespace heddle::detail {

/// The state of a Batch: remembered tapes, each with the graph made of it.
class BatchRun {
public:
    explicit BatchRun(BatchOptions options)
        : on_cpu(options.on_cpu), remembered_(std::max<std::size_t>(1, options.remembered)) {}

    /// Launches the tape on `origin` and leaves an empty tape in its place. Moves what is to be
    /// destroyed, perhaps with users' closures, to `garbage`, which must have room. If it throws,
    /// the tape is unchanged.
    void launch(std::shared_ptr<Tape>& tape, StreamRecord& origin, const SourceLocation& where,
                std::vector<std::shared_ptr<void>>& garbage);
    std::size_t size() const noexcept { return entries_.size(); }
    void clear() noexcept { entries_.clear(); }

    BatchResult last;
    bool open = false;  ///< in use by a ScopedBatch
    /// That scope's recorder. Other threads may launch meanwhile, under its lock.
    class BatchRecorder* recorder = nullptr;
    bool on_cpu;

private:
    struct Entry {
        std::shared_ptr<Tape> tape;    ///< what the graph runs now
        std::shared_ptr<Tape> before;  ///< what it ran before its last update
        std::shared_ptr<GraphExec> exec;
        std::shared_ptr<const ShapeData> shape;  ///< for observers; null until one is there
    };
    void notify(Entry& entry, StreamRecord& origin, const SourceLocation& where) noexcept;
    Entry* find(const Tape& tape);
    void update(Entry& entry, const std::shared_ptr<Tape>& tape, const SourceLocation& where);
    void drop(std::size_t index, std::vector<std::shared_ptr<void>>& garbage) noexcept;

    std::size_t remembered_;
    std::vector<Entry> entries_;  ///< least recently used first
    NodeData scratch_;
};

}  // namespace heddle::detail
