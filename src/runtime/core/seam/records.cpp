#include "core/seam/records.hpp"

#include "core/seam/debugger.hpp"
#include <heddle/memory/detail/block.hpp>

namespace heddle::detail {

template class BasicWaitedFor<std::atomic>;

}  // namespace heddle::detail

// For debuggers -----------------------------------------------------------------------------------

namespace {
using heddle::detail::Block;
using heddle::detail::EventState;
using heddle::detail::StreamRecord;
}  // namespace

HEDDLE_OFFSET(stream_native, offsetof(StreamRecord, native))
HEDDLE_OFFSET(stream_device, offsetof(StreamRecord, device))
HEDDLE_OFFSET(stream_flags, offsetof(StreamRecord, flags))
HEDDLE_OFFSET(stream_submissions, offsetof(StreamRecord, submissions))
HEDDLE_OFFSET(stream_id, offsetof(StreamRecord, id))
HEDDLE_OFFSET(stream_priority, offsetof(StreamRecord, priority))
HEDDLE_OFFSET(stream_name, offsetof(StreamRecord, name))
HEDDLE_OFFSET(stream_seen_complete, offsetof(StreamRecord, seen_complete))
HEDDLE_OFFSET(event_device, offsetof(EventState, device))
HEDDLE_OFFSET(event_recorded, offsetof(EventState, recorded))
HEDDLE_OFFSET(event_recorder, offsetof(EventState, recorder))
HEDDLE_OFFSET(event_stream, offsetof(EventState, stream))
HEDDLE_OFFSET(event_stream_id, offsetof(EventState, stream_id))
HEDDLE_OFFSET(event_submissions, offsetof(EventState, submissions))
HEDDLE_OFFSET(block_data, offsetof(Block, data))
HEDDLE_OFFSET(block_bytes, offsetof(Block, bytes))
HEDDLE_OFFSET(block_device, offsetof(Block, device))
HEDDLE_OFFSET(block_kind, offsetof(Block, kind))
HEDDLE_OFFSET(block_alive, offsetof(Block, alive))
#ifdef _LIBCPP_VERSION
extern "C" {
extern const char heddle_strings_are_of_libcxx;
[[gnu::used]] const char heddle_strings_are_of_libcxx = 1;
}
#endif
