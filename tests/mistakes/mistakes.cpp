// Other mistakes of users, without kernels. They must not compile; see check.sh.
#include <cstdio>
#include <string>
#include <vector>

#include <heddle/heddle.hpp>

using namespace heddle;

namespace {

void takes_native(CUstream_st*) {}

void memory(Stream& s, Device device, std::size_t n, Array<float>& x, const Array<float>& fixed,
            Array<int>& integers, std::vector<float>& host) {
    (void)zeros<std::string>(10);  // says: copied as bytes between devices
    Array<float> of_two(n, n);     // says: this_number_is_one_argument_too_many
    Array<float> sized = n;        // says: Array<float>
    Array<float> copied = x;       // says: arrays_are_not_copied_use_copy
    launch(s, [=](std::size_t i) { (void)x[i]; }, dim(n));  // says: use_copy_or_a_View
    (void)zeros<float>(n, s);           // says: the_stream_is_the_first_argument
    (void)zeros<float>(device, n, n);   // says: this_number_is_one_argument_too_many
    (void)zeros<float>(n, n);           // says: this_number_is_one_argument_too_many
    (void)from_host(host.data(), n);    // says: write_View_of_pointer_and_size
    copy(x, host, s);                   // says: the_stream_is_the_first_argument
    copy(x, host, n);                   // says: this_number_is_one_argument_too_many
    copy(x.data(), host.data(), n);     // says: write_View_of_pointer_and_size
    copy(s, x, integers);               // says: must have the same element type
    copy(s, fixed, x);                  // says: the_destination_is_const
    copy(s, x, 3);                      // notes: Source
    fill(s, fixed, 1.0f);               // notes: Destination
    fill(x, 1.0f, s);                   // says: the_stream_is_the_first_argument
    fill(x, s, 1.0f);                   // says: the_stream_is_the_first_argument
    fill(integers, 2.7f);               // says: the elements are integers
    (void)full<int>(s, n, 0.5);         // says: the elements are integers
    (void)full<short>(n, 0.5);          // says: the elements are integers
    (void)full<float>(3.0f, 1000);      // says: a_size_is_a_whole_number
    (void)zeros<float>(0.5 * 10);       // says: a_size_is_a_whole_number
    (void)zeros<float>(s, 0.5 * 10);    // says: a_size_is_a_whole_number
    (void)full<float>(device, 0.5, 1);  // says: a_size_is_a_whole_number
    Array<float> of_half(0.5);          // says: a_size_is_a_whole_number
    fill(x.data(), 0, n);               // says: write_View_of_pointer_and_size
    fill(x, "zero");                    // says: does not convert to the element type
    fill(s, x, "nil");                  // says: does not convert to the element type
    (void)to_host(x, host);             // says: to_host_returns_a_vector_and_copy_writes_to_one
    (void)to_host(s, x, host);          // says: to_host_returns_a_vector_and_copy_writes_to_one
    View2D<float> writable = View2D<const float>(fixed, 1, 1);        // notes: View2D
    (void)writes(fixed, x);                                           // notes: Writable
    View<float> view = std::vector<float>(3);                         // says: the_memory_ends_first
    View deduced = std::vector<float>(3);                             // says: the_memory_ends_first
    copy_2d(s, View2D<float>(x, 1, 1), View2D<int>(integers, 1, 1));  // notes: SameElement
}

void streams(Stream& s, StreamRef r, Device device, Event& event, Batch& batch, StreamPool& pool,
             CUstream_st* native) {
    Device by_number(0);                         // says: a_Device_has_a_kind_and_a_number
    Device by_two("cuda", 0);                    // says: a_Device_has_a_kind_and_a_number
    Stream named("copy");                        // says: a_Device_or_StreamOptions_with_a_name
    Stream by_name(std::string("copy"));         // says: a_Device_or_StreamOptions_with_a_name
    Stream urgent(-1);                           // says: a_Device_or_StreamOptions_with_a_name
    Stream on_device(device, -1);                // says: name_and_priority_are_in_StreamOptions
    Stream copied = s;                           // says: streams_are_moved_and_not_copied
    Stream wrapped(native);                      // says: use_wrap_stream
    copy(native, View<float>(), View<float>());  // says: View
    takes_native(s);        // says: with_native_lends_a_handle_and_native_handle_returns_one
    Event of_stream(s);     // says: use_wait_stream_or_record_event
    Event same = event;     // says: events_are_moved_and_not_copied
    s.wait_stream(event);   // says: use_wait_event
    s.wait_event(r);        // says: use_wait_stream_or_record_event
    s.wait_stream(device);  // says: use_current_stream_of_the_device
    synchronize(s);         // says: use_synchronize_stream
    synchronize(device);    // says: use_synchronize_device
    ScopedDevice by_text("cuda:0");                        // says: write_Device_of_the_name
    ScopedStream scope{Stream()};                          // says: stream_ends_first
    ScopedStream named_scope("side");                      // says: a_name_finds_no_stream
    ScopedStream leased{pool.lease()};                     // says: stream_ends_first
    ScopedStream waits{Stream(), {.wait_on_exit = true}};  // says: stream_ends_first
    ScopedStream located{Stream(), {}, Where()};           // notes: stream_ends_first
    ScopedCapture capturing{Stream()};                     // says: stream_ends_first
    ScopedBatch recording{batch, Stream()};                // says: stream_ends_first
    ScopedBatch lent{batch, pool.lease()};                 // says: stream_ends_first
    set_stream(Stream());                                  // says: stream_ends_first
    launch_host(s, 3);                                     // says: this_is_the_result_of_a_call
    launch_host(s, std::puts("now"));                      // says: this_is_the_result_of_a_call
    launch_host(&s, [] {});                                // says: pass_the_stream_itself
    s.wait_stream(&s);                                     // says: pass_the_stream_itself
    s = default_stream();                                  // says: use_a_StreamRef_or_set_stream
    launch_host(s, [](int) {}, 3);           // says: a_host_function_takes_no_arguments
    (void)host_node(3);                      // notes: HostCallable
    on_completion(s, [] {});                 // says: takes_a_std_exception_ptr
    fork_join(StreamRef(), 3);               // notes: BranchFunction
    (void)capture(StreamRef(), [](int) {});  // notes: invocable
    (void)capture([] {}, s);                 // says: the_stream_is_the_first_argument
    Pipeline<float>(current_device(), [](StreamRef) {});  // says: work_takes_stream_View_const_In
    const auto writes_in = [](StreamRef, View<int>, View<int>) {};
    Pipeline<int, int> ints(device, writes_in, {.depth = 2});  // says: View_const_In_View_Out
}

void graphs(Stream& s, Event& event, Array<float>& x) {
    auto node = fill_node(x, 1.0f);
    Graph graph = node;        // says: a_node_is_not_a_Graph_use_build
    (void)child_node(node);    // says: a_node_is_not_a_Graph_use_build
    node.after(s);             // says: after_takes_nodes_and_launch_takes_the_stream
    node.after(event);         // says: after_takes_nodes_use_wait_node_of_the_event
    node.after(node.build());  // says: after_takes_nodes_use_child_node_of_the_graph
}

void not_included() {
    DataOrder order;  // says: DataOrder
}

// A deleted constructor must not count as a conversion for code that tests for one.
static_assert(!std::is_constructible_v<Device, int> && !std::is_constructible_v<Stream, int> &&
              !std::is_constructible_v<Stream, const char*> &&
              !std::is_convertible_v<Stream, CUstream_st*> &&
              !std::is_convertible_v<Stream, void*> && !std::is_convertible_v<Stream, bool> &&
              !std::is_convertible_v<CUstream_st*, StreamRef> &&
              !std::is_convertible_v<Device, StreamRef> && !std::is_convertible_v<Stream, Where> &&
              !std::is_convertible_v<std::vector<float>, View<float>> &&
              !std::is_convertible_v<GraphNode, Graph> &&
              !std::is_convertible_v<View2D<const float>, View2D<float>> &&
              std::is_convertible_v<View2D<float>, View2D<const float>> &&
              !std::is_copy_constructible_v<Array<float>> &&
              !std::is_copy_constructible_v<Stream> && !std::is_copy_constructible_v<Event> &&
              std::is_nothrow_move_constructible_v<Array<float>> &&
              std::is_trivially_copyable_v<StreamRef> && std::is_trivially_copyable_v<Where> &&
              std::is_trivially_copyable_v<Device> && std::is_convertible_v<Stream&, StreamRef> &&
              std::is_convertible_v<std::vector<float>&, View<float>>);

}  // namespace
