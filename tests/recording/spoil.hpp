// Makes the submission of a batch fail.
#pragma once

#include <heddle/stream/stream.hpp>

namespace heddle_test {

/// Adds an invalid node to the batch that records the stream: a condition without bodies. The end
/// of the batch then throws UsageError. Do not make the batch flush before its end.
void spoil_batch(heddle::StreamRef stream);

}  // namespace heddle_test
