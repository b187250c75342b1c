// Made-up traces of the small programs in slow_programs.hpp. TimedCosts declares the costs on the
// made-up machine.
#pragma once

#include "timeline/timed_costs.hpp"
#include "timeline/trace.hpp"

namespace heddle_test::slow_traces {

using heddle::detail::Trace;

Trace work_in_a_row(const TimedCosts&);
Trace work_that_is_read(const TimedCosts&);
Trace work_that_is_copied(const TimedCosts&);
Trace work_whose_event_is_polled(const TimedCosts&);
Trace work_whose_stream_is_polled(const TimedCosts&);
Trace two_streams_that_are_polled_by_turns(const TimedCosts&);
Trace streams_side_by_side(const TimedCosts&);
Trace chains_that_cross_on_one_stream(const TimedCosts&);
Trace waits_for_memory_behind_an_address(const TimedCosts&);
Trace host_that_enqueues_one_by_one(const TimedCosts&);
Trace host_that_waits_between_launches(const TimedCosts&);
Trace host_that_reads_between_launches(const TimedCosts&);
Trace host_that_polls_between_launches(const TimedCosts&);
Trace host_that_computes_between_launches(const TimedCosts&);
Trace copies_of_pageable_memory(const TimedCosts&);
Trace copies_and_kernels_by_turns(const TimedCosts&);
Trace waits_without_a_reason(const TimedCosts&);
Trace waits_for_a_whole_stream(const TimedCosts&);
Trace chains_on_one_stream(const TimedCosts&);
Trace more_streams_than_workers(const TimedCosts&);

}  // namespace heddle_test::slow_traces
