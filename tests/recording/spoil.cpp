#include "recording/spoil.hpp"

#include <memory>
#include <utility>

#include "core/graph/node.hpp"
#include "core/recording/recorder.hpp"

namespace heddle_test {

void spoil_batch(heddle::StreamRef stream) {
    using namespace heddle::detail;
    const Recorded recorder(record_of(stream));
    auto node = std::make_shared<NodeData>();
    node->conditional = std::make_shared<Conditional>();
    recorder->tape->add(heddle::NodeKind::conditional, stream.device(), {}, {});
    recorder->tape->set_node(std::move(node));
}

}  // namespace heddle_test
