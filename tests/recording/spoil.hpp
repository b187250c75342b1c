// Makes the sending of a batch fail.
#pragma once

#include <heddle/stream/stream.hpp>

namespace heddle_test {

/// Adds a node that no graph can have to the batch that records the stream: a condition without
/// bodies. Ending the batch then throws UsageError. Do not make the batch send before.
void spoil_batch(heddle::StreamRef stream);

}  // namespace heddle_test
