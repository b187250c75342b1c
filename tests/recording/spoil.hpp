// Makes the sending of a batch fail.
#pragma once

#include <heddle/stream/stream.hpp>

#include "core/graph/graph.hpp"
#include "core/recording/recorder.hpp"

namespace heddle_test {

/// Adds to the batch that records the stream what no graph can have, a condition without bodies, so
/// that ending the batch throws UsageError. Do not make it send before.
inline void spoil_batch(heddle::StreamRef stream) {
    using namespace heddle::detail;
    const Recorded recorder(record_of(stream));
    auto node = std::make_shared<NodeData>();
    node->conditional = std::make_shared<Conditional>();
    recorder->tape->add(heddle::NodeKind::conditional, stream.device(), {}, {});
    recorder->tape->set_node(std::move(node));
}

}  // namespace heddle_test
