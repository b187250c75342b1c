// Users cannot access the members of public classes that only the library may use. Most of this is
// checked at compile time.
#include "support.hpp"

#include <memory>
#include <type_traits>

using namespace heddle_test;

namespace {

using detail::Access;

template <class T>
concept ShowsState = requires(T object) { object.state(); };
template <class T>
concept ShowsData = requires(T object) { object.data(); };
template <class T>
concept ShowsOwner = requires(T object) { object.owner(); };

static_assert(!ShowsState<StreamRef> && !ShowsState<Stream> && !ShowsState<Event>);
static_assert(!ShowsData<GraphNode> && !ShowsData<FillNode> && !ShowsData<Graph> &&
              !ShowsData<ModuleKernel>);
static_assert(!ShowsOwner<View<int>>);

static_assert(!std::is_constructible_v<StreamRef, detail::StreamState&> &&
              !std::is_constructible_v<Stream, detail::StreamState&> &&
              !std::is_constructible_v<Event, detail::EventState&> &&
              !std::is_constructible_v<ModuleKernel, detail::ModuleKernelData&> &&
              !std::is_constructible_v<Graph, std::unique_ptr<detail::GraphData>> &&
              !std::is_constructible_v<View<int>, int*, std::size_t, detail::Block*> &&
              !std::is_constructible_v<Array<int>, detail::Block&, std::size_t>);
static_assert(!std::is_constructible_v<CopyNode, detail::Region, detail::Region, Where> &&
              !std::is_constructible_v<EventNode, NodeKind, Event&, Where>);

static_assert(sizeof(StreamRef) == sizeof(void*) && std::is_trivially_copyable_v<StreamRef>);
static_assert(std::is_trivially_copyable_v<View<int>> && std::is_trivially_copyable_v<Device>);
static_assert(std::is_same_v<decltype(Access::view<int>(nullptr, 0, nullptr)), View<int>>);

// Views, arrays and objects of classes derived from Array do not count as host ranges.
struct Derived : Array<int> {};
static_assert(!detail::HostRange<View<int>> && !detail::HostRange<Array<int>&> &&
              !detail::HostRange<Derived&> && detail::HostRange<std::vector<int>&>);

}  // namespace

TEST_CASE("a view without an owner has no block") {
    CHECK(Access::block(Access::view<int>(nullptr, 0, nullptr)) == nullptr);
}

TEST_CASE("the library's view of a stream is the stream") {
    const Stream stream(test_device());
    CHECK(Access::stream(Access::state(stream)) == stream);
}
