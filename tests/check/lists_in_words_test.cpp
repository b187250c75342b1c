// Lists of operations in words (list_reader.hpp), and the checker's findings for them.
#include <string>

#include "check/list_reader.hpp"

using namespace heddle_test;

namespace {

struct Case {
    std::string name;  ///< empty for a variant of the previous case
    std::string list;
    std::string findings;
};

const Case cases[] = {
    // Copies between devices.
    {"peer_copy_both_sides",
     "a@1 writes source; b@2 waits a@1; b@2 copies source target; a@1 waits b@2; a@1 writes source",
     ""},
    {"",
     "a@1 writes source; b@2 waits a@1; b@2 copies source target; -a@1 waits b@2; a@1 writes "
     "source",
     "write_after_read 3 5"},
    // Order by events.
    {"event_orders", "a writes x; a records e1; b waits e1; b writes x", ""},
    {"event_re_recorded_on_another_stream_before_the_wait",
     "a writes x; a records e; c records e; b waits e; b reads x", "read_after_write 1 5"},
    {"event_re_recorded_after_the_wait_leaves_the_wait",
     "a writes x; a records e; b waits e; c records e; b reads x", ""},
    {"wait_enqueued_before_the_record", "b waits e; a writes x; a records e; b reads x",
     "read_after_write 2 4"},
    {"one_record_resolves_two_waits",
     "a writes x; a records e1; b waits e1; c waits e1; b reads x; c reads x", ""},
    {"event_waited_for_twice", "a writes x; a records e1; b waits e1; b waits e1; b reads x", ""},
    {"event_object_reused_from_the_pool_keeps_generations_apart",
     "a writes x; a records e_first; b records e_second; b waits e_first; b writes x", ""},
    {"state_merges_through_two_events_of_one_stream",
     "a writes x; a records e1; b writes y; b waits e1; b records e3; c waits e3; c reads x, "
     "reads y",
     ""},
    {"wait_on_own_event_is_nothing", "b writes x; a records e1; a waits e1; a elides a; a reads x",
     "read_after_write 1 5"},
    // Waits and accesses of the host.
    {"event_synchronize", "a writes x; a records e1; host waits e1; host reads x", ""},
    {"event_synchronize_of_an_older_record",
     "a records e1; a writes x; host waits e1; host reads x", "host_read_after_write 2 4"},
    {"device_synchronize_covers_all_streams",
     "a@1 writes x[0+50]; b@1 writes x[50+50]; other@2 writes y; host waits @1; host reads x", ""},
    {"",
     "a@1 writes x[0+50]; b@1 writes x[50+50]; other@2 writes y; host waits @1; host reads x; "
     "host reads y",
     "host_read_after_write 3 6"},
    {"query_loop_of_a_stream_is_a_wait", "a writes x; host queries a; host reads x", ""},
    {"query_loop_of_an_event_is_a_wait", "a writes x; a records e1; host queries e1; s2 writes x",
     ""},
    {"synchronize_by_another_thread_counts",
     "a writes x; thread 1: host waits a; thread 0: b writes x", ""},
    {"synchronize_while_another_thread_enqueues",
     "a writes x; thread 1: host begins a; thread 0: a writes y; thread 1: host ends; host reads x",
     ""},
    {"",
     "a writes x; thread 1: host begins a; thread 0: a writes y; thread 1: host ends; host reads "
     "x; host reads y",
     "host_read_after_write 3 6"},
    {"waiting_for_one_stream_covers_what_it_waited_for",
     "a writes x; b waits a; host waits b; host writes x", ""},
    {"host_overwrites_pinned_source_of_a_copy_in_flight", "a copies pinned x; host writes pinned",
     "host_write_after_read 1 2"},
    {"what comes after a memory's users comes after all known ones",
     "a writes x; b waits a; b reads x; c waits_users x; c writes x; a writes y; host waits_users "
     "y; b "
     "writes y",
     ""},
    {"what comes after a memory's users comes after what they waited for",
     "b writes y; a waits b; a writes x; c waits_users x; c writes y", ""},
    {"what comes after a memory's users may run before what their streams waited for later",
     "b writes y; a writes x; a waits b; c waits_users x; c writes y", "write_after_write 1 5"},
    {"", "b writes y; a writes x; a waits b; host waits_users x; c writes y",
     "write_after_write 1 5"},
    {"users that heddle does not know are not waited for",
     "a allocates x; b waits a; a writes x*; b waits_users x; b writes x", "write_after_write 3 5"},
    {"pageable_destination_read_before_the_copy_is_waited_for",
     "a copies y2 destination; host reads destination", "host_read_after_write 1 2"},
    {"managed_memory_after_synchronize",
     "a writes managed; host waits a; host reads managed; a writes managed", ""},
    {"", "a writes managed; -host waits a; host reads managed; a writes managed",
     "host_read_after_write 1 3"},
    {"host_write_then_launch_needs_nothing", "host writes x; s1 reads x", ""},
    {"threads_hand_over_by_queue_and_event",
     "thread 1: a writes x; a records e1; thread 2: b waits e1; b reads x", ""},
    {"", "thread 1: a writes x; a records e1; -thread 2: b waits e1; b reads x",
     "read_after_write 1 4"},
    // Host functions.
    {"host_function_reads_declared_in_order", "a writes x; a calls, reads x; a writes x", ""},
    {"host_function_writes_what_another_stream_reads", "b reads x; a calls, writes x",
     "write_after_read 1 2"},
    {"a host function before the access does not hide it", "a calls; a writes x; b reads x",
     "read_after_write 2 3"},
    {"host_function_enqueues_on_another_stream",
     "a writes x; a calls; parent 2: b reads x; parent 0: b writes x", ""},
    // Allocated memory.
    {"allocation_ordered_by_event", "a allocates x; a records e1; b waits e1; b writes x", ""},
    {"heddle frees after the users that it knows, in ways that are not told",
     "a allocates x; b waits a; b writes x; a frees x", ""},
    {"use of memory that was freed", "a allocates x; a frees x; b waits a; b reads x",
     "use_after_free 2 4"},
    {"", "a allocates x; a frees x; b waits a; b reads x; b reads x*", "use_after_free 2 4"},
    {"moved_array_keeps_history", "a allocates x; a writes x; b reads x", "read_after_write 2 3"},
    {"the host may free what streams still use",
     "host allocates pinned; a reads pinned; host frees pinned", ""},
    // Order by streams.
    {"unordered_write_then_read_on_two_streams", "a writes x; b reads x", "read_after_write 1 2"},
    {"same_stream_needs_nothing", "a writes x; a reads x; a writes x", ""},
    {"wait_stream_orders", "a writes x; b waits a; b reads x", ""},
    {"", "a writes x; -b waits a; b reads x", "read_after_write 1 3"},
    {"reads_check_last_write_not_first", "a writes x; b waits a; a writes x; b reads x",
     "read_after_write 3 4"},
    {"two_branches_join", "a writes x; b writes y; b waits a; a waits b; a writes x, writes y", ""},
    {"", "a writes x; b writes y; b waits a; -a waits b; a writes x, writes y",
     "write_after_write 2 5"},
    {"chain_of_three_streams", "a writes x; b waits a; b reads x; c waits b; c writes x", ""},
    {"", "a writes x; -b waits a; b reads x; c waits b; c writes x",
     "read_after_write 1 3, write_after_write 1 5"},
    {"", "a writes x; b waits a; b reads x; -c waits b; c writes x",
     "write_after_write 1 5, write_after_read 3 5"},
    {"all_readers_are_checked_one_unordered",
     "a reads x; b reads x; c reads x; d waits a; d waits c; d writes x", "write_after_read 2 6"},
    {"all_readers_ordered", "a reads x; b reads x; c waits a; c waits b; c writes x", ""},
    {"transitive_through_a_stream_that_did_no_work", "a writes x; b waits a; c waits b; c reads x",
     ""},
    {"elided_wait_counts_as_edge",
     "a allocates y; a writes x; b waits a; b elides a; b reads x, writes y", ""},
    {"fault_in_elision_is_reported_as_heddles", "a writes y1; b waits a; b elides a", ""},
    {"", "a writes y1; b waits a; b elides a; a writes y2; b elides a", "elision_fault 0 5"},
    {"", "a writes y1; b waits a; b elides a; a writes y2; b elides a; c waits b; b elides c",
     "elision_fault 0 5"},
    {"an elided wait may bring what needs no wait",
     "a writes y1; b waits a; c waits b; a records e1; a allocates z2; b elides a; c elides b", ""},
    {"an elided wait that was needed for a third stream's work is a fault",
     "b writes y1; c waits b; a writes y2; b waits a; c elides b", "elision_fault 0 5"},
    {"waits for users of memory say nothing about other work",
     "a writes x; b waits a; b waits_users x; c elides b", "elision_fault 0 4"},
    {"an elided wait may say more than the thread knew",
     "a writes y1; b waits a; thread 1: a writes y2; thread 0: b elides a", ""},
    {"three_streams_two_write_one_waits_for_the_other_only", "a writes x; c waits b; c writes x",
     "write_after_write 1 3"},
    {"new_stream_is_not_ordered_after_unfinished_work", "a writes x; s2 reads x",
     "read_after_write 1 2"},
    {"new_stream_is_ordered_after_what_the_host_waited_for", "a writes x; host waits a; s2 reads x",
     ""},
    // Parts of arrays.
    {"halves_on_two_streams", "s1 writes x[0+50]; s2 writes x[50+50]", ""},
    {"const_view_of_a_part_against_write_of_the_whole", "s1 reads x[10+5]; s2 writes x",
     "write_after_read 1 2"},
    {"same_array_twice_in_one_launch", "s1 reads x, writes x, reads x[3+4]", ""},
    {"", "s1 reads x, writes x, reads x[3+4]; s2 writes x", "write_after_write 1 2"},
    {"concurrent_views_do_not_conflict", "s1 adds x; s2 adds x", ""},
    {"concurrent_against_plain", "s1 adds x; s2 adds x; s3 reads x",
     "read_after_write 1 3, read_after_write 2 3"},
    // Parts of arrays.
    {"two_columns_of_one_matrix", "s1 writes x[0+4/10*100]; s2 writes x[4+6/10*100]", ""},
    {"column_blocks_overlap_by_one", "s1 writes x[0+5/10*100]; s2 writes x[4+6/10*100]",
     "write_after_write 1 2"},
    {"columns of blocks of rows that do not meet",
     "s1 writes x[0+5/10*50]; s2 writes x[503+5/10*49]; s3 writes x[493+5/10*49]",
     "write_after_write 1 3, write_after_write 2 3"},
    {"interleaved_rows_of_different_pitch",
     "s1 writes x[0+2/10*100]; s2 writes x[4+2/20*50]; s3 writes x[1+1/20*50]",
     "write_after_write 1 3"},
    {"rows against bytes", "s1 writes x[0+2/10*100]; s2 writes x[12+8]; s3 writes x[19+2]",
     "write_after_write 1 3, write_after_write 2 3"},
    {"very many rows of different pitch may overlap",
     "s1 writes x[0+2/10*10000]; s2 writes x[4+2/20*5000]", "possible write_after_write 1 2"},
    // Allocated, freed and reused memory.
    {"array_dies_while_known_users_work",
     "a allocates x; b waits a; b writes x; as free: a waits b; a frees x", ""},
    {"raw_view_with_used_on", "a allocates x; b waits a; b reads x*; as free: a waits b; a frees x",
     ""},
    {"used_on covers what the stream did before it",
     "a allocates x; b waits a; b reads x*; b declares x; a frees x", ""},
    {"", "a allocates x; b waits a; b reads x*; b declares x; b reads x*; a frees x",
     "free_before_use 5 6"},
    {"block_reused_after_order",
     "a allocates x; a writes x; a frees x; b waits a; b reuses x; b writes x", ""},
    {"block_reused_without_order_of_a_raw_use",
     "a allocates x; b waits a; b reads x*; a frees x; a reuses x; a writes x",
     "free_before_use 3 4"},
    {"freed_block_taken_again_on_the_same_stream",
     "a allocates x; a writes x; a frees x; a reuses x; a writes x; a frees x; a reuses x", ""},
    {"the host uses new memory of a stream, perhaps too early", "a allocates x; host writes x",
     "possible use_before_allocation 1 2"},
    // Order that the checker cannot see.
    {"polled_flag_of_atomics", "a signals, writes x, adds flag; b adds flag; b reads x",
     "possible read_after_write 1 3"},
    {"polled_flag_of_plain_int", "a signals, writes x; b reads x", "possible read_after_write 1 2"},
    {"shared_event_between_processes",
     "host exports e1; host imports e2; a writes x; a records e1; b waits e2; b writes x", ""},
    {"exported_memory_without_event", "host exports e; a writes x; a records e; b reads x",
     "possible read_after_write 2 4"},
    {"handed_out_stream_with_foreign_kernel", "a writes x; a exposes; b waits a; b reads x", ""},
    {"wrapped_stream", "a wraps; a writes x; b waits a; b writes x; a reads x",
     "read_after_write 4 5"},
    // The host, its copies, and failures.
    {"stream_synchronize", "a writes x; host waits a; host writes x", ""},
    {"", "a writes x; -host waits a; host writes x", "host_write_after_write 1 3"},
    {"pageable_source_may_be_overwritten_at_once",
     "a copies pageable x; as copy: host reads pageable; host writes pageable; b copies pageable "
     "y; host writes x",
     "host_write_after_write 1 5"},
    {"pageable memory of the program's own may be overwritten at once",
     "a copies x pageable*; as copy: host writes pageable*; b copies y pageable*; as copy: host "
     "writes pageable*; host writes pageable*",
     ""},
    {"a copy to pageable memory is over when it returns",
     "a writes x; a copies x pageable*; as copy: host writes pageable*; b writes x; host writes "
     "pageable*",
     ""},
    {"to_host_waits", "a copies x pageable; as copy: host waits a; host reads pageable", ""},
    {"work_after_clear_error", "a drops; a writes x; b reads x", "read_after_write 2 3"},
    // Batches and collectives.
    {"batch_as_without_it",
     "as batched: a writes x; as batched: a reads x; a sends; host waits a; host reads x", ""},
    {"batch_hides_a_race_by_its_join",
     "as batched: a writes x; as batched: b reads x; as batch: a waits b; as batch: a sends; as "
     "batch: b waits a; b writes x; b elides a",
     "read_after_write 1 2, write_after_write 1 6"},
    {"all_reduce",
     "a@1 writes x; b@2 writes y, writes z; a@1 joins 5 0/2, reads x, writes x; b@2 joins 5 1/2, "
     "reads y, writes y; a@1 reads z",
     ""},
    {"a share may use what another share's stream made",
     "b@2 writes x; a@1 joins 5 0/2, writes x; b@2 joins 5 1/2, writes y", ""},
    {"gradient_written_before_all_reduce_without_wait",
     "work@1 writes x; a@1 joins 5 0/2, reads x, writes x; b@2 joins 5 1/2, reads y, writes y",
     "write_after_write 1 2"},
    {"result_read_on_a_stream_that_is_no_share",
     "a@1 joins 5 0/2, writes x; b@2 joins 5 1/2, writes y; reader@1 reads x",
     "read_after_write 1 3"},
    {"two_collectives_share_a_buffer",
     "a@1 joins 5 0/2, writes x; b@2 joins 5 1/2, writes y; c@1 joins 6 0/2, writes x; d@2 joins 6 "
     "1/2, writes z",
     "write_after_write 1 3"},
    {"shares that write one array", "a@1 joins 5 0/2, writes x; b@2 joins 5 1/2, writes x",
     "write_after_write 1 2"},
    {"shares of other processes are not seen",
     "work@1 writes x; a@1 joins 5 0/2, writes x; a@1 joins 6 0/2, writes x",
     "possible write_after_write 1 2"},
    // Scopes, fork and join.
    {"scope_enter_and_exit_waits",
     "outer writes x; as enter: inner waits outer; inner writes x; as exit: outer waits inner; "
     "outer reads x",
     ""},
    {"",
     "outer writes x; -as enter: inner waits outer; inner writes x; as exit: outer waits inner; "
     "outer reads x",
     "write_after_write 1 3"},
    {"",
     "outer writes x; as enter: inner waits outer; inner writes x; -as exit: outer waits inner; "
     "outer reads x",
     "read_after_write 3 5"},
    {"nested_scopes",
     "a writes x; as enter: b waits a; as enter: c waits b; c writes x; as exit: b waits c; as "
     "exit: a waits b; a reads x",
     ""},
    {"fork_join_disjoint_parts",
     "before writes x; as fork: a waits before; as fork: b waits before; a writes x[0+50]; b "
     "writes x[50+50]; as join: before waits a; as join: before waits b; before reads x",
     ""},
    {"fork_join_branches_share_a_part",
     "as fork: a waits before; as fork: b waits before; a writes x[0+51]; b reads x[50+50]",
     "read_after_write 3 4"},
    // Destroyed streams.
    {"a wait for a stream that was destroyed may mean any", "a writes x; b waits host; b writes x",
     ""},
    // Destroyed events.
    {"event_destroyed_and_another_made_in_its_place",
     "a writes x; a records e1; b waits e2; b reads x", "read_after_write 1 4"},
};

}  // namespace

TEST_CASE("check: lists in words have the findings that stand beside them", "[check]") {
    for (const Case& one : cases) {
        INFO(one.name << ": " << one.list);
        CHECK(ListReader(one.list).findings() == one.findings);
    }
}
