// Makes the sending of a batch fail.
#pragma once

#include <heddle/stream/stream.hpp>

namespace heddle_test {

/// Adds to the batch that records the stream what no graph can have, a condition without bodies, so
/// that ending the batch throws UsageError. Do not make it send before.
void spoil_batch(heddle::StreamRef stream);

}  // namespace heddle_test
