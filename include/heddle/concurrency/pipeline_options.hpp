// Options of pipelines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace heddle {

/// Options of a Pipeline, and of overlap().
struct PipelineOptions {
    /// Pieces in flight at the same time, and buffers of each kind; at most 1024. 0 chooses 6, or 4
    /// if there is no input or no output.
    std::size_t depth = 0;
    /// Maximum input elements of a piece (output elements if there is no input), at least 1. By
    /// default 8 MB on CUDA devices, where copies reach their full rate. On CPU devices 512 KB to 8
    /// MB, to fit the caches.
    std::optional<std::size_t> piece = {};
    /// Maximum output elements of a piece, at least 1. By default the number of its input elements.
    std::optional<std::size_t> out_piece = {};
    int copy_priority = 0;  ///< priority of the streams that copy
    int work_priority = 0;  ///< priority of the stream that runs the work
    /// On CPU devices, lets the work use the host's buffers without copies. CUDA devices always
    /// copy, from and to pinned memory.
    bool in_place = true;
    std::string name = "pipeline";  ///< prefix of the streams' names: "pipeline: work"
    /// Called on the calling thread when a piece has completed (with output: when it is popped).
    /// Receives the numbers of pieces completed, and of their input elements (output elements if
    /// there is no input). Its exceptions stop the pipeline.
    std::function<void(std::uint64_t pieces, std::uint64_t elements)> progress = {};
};

}  // namespace heddle
