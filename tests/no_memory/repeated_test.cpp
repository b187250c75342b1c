// A call that fails because memory is exhausted has no effect. If the call is repeated, the result
// is as if it had not failed.
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels.hpp"
#include "no_memory/faults.hpp"
#include "support.hpp"

using namespace heddle_test;

namespace {

constexpr std::size_t n = 16;

/// Makes the call. Repeats it while memory is exhausted.
template <class F> void again(F&& call) {
    for (;;) {
        try {
            return call();
        } catch (const OutOfMemory&) {
        } catch (const std::bad_alloc&) {}
    }
}

/// Two streams with an array each. Has the elements that the arrays should contain.
struct Twin {
    Stream s{test_device()}, p{test_device()};
    Array<int> x = zeros<int>(s, n), y = zeros<int>(p, n);
    int in_x = 0, in_y = 0;
    int leases_lost = 0;  ///< how often a pool's number of leases was wrong

    Twin() {
        s.synchronize();
        p.synchronize();
    }
    void add_x(int value) {
        again([&] { launch(s, Add{}, dim(n), x, value); });
        in_x += value;
    }
    void add_y(int value) {
        again([&] { launch(p, Add{}, dim(n), y, value); });
        in_y += value;
    }
    void join(StreamRef waiter, StreamRef other) {
        again([&] { waiter.wait_stream(other); });
    }
    std::string result() const {
        return "x " + std::to_string(to_host(s, x)[n - 1]) + ", y " +
               std::to_string(to_host(p, y)[n - 1]) + ", lost " + std::to_string(leases_lost);
    }
    std::string wanted() const {
        return "x " + std::to_string(in_x) + ", y " + std::to_string(in_y) + ", lost 0";
    }
};

/// Runs the calls again and again. In each run, another allocation of this thread fails. Returns
/// the first wrong result, or an empty string.
std::string sweep(const std::function<void(Twin&)>& calls) {
    constexpr long most = 5000;
    for (long k = 0; k < most; ++k) {
        const Drained drained;
        Twin twin;
        long failed = 0;
        {
            const Faults faults(Fault::one_here, k);
            calls(twin);
            failed = faults.count();
        }
        const std::string result = twin.result();
        if (result != twin.wanted())
            return result + " instead of " + twin.wanted() + " (where allocation " +
                   std::to_string(k) + " fails)";
        if (failed == 0) return "";
    }
    return "it does not come to an end";
}

}  // namespace

TEST_CASE("a batch that cannot be sent for want of memory is sent by the next call, once") {
    CHECK(sweep([](Twin& it) {
              Batch batch = [] {
                  const OwnMemory own;
                  return Batch({.on_cpu = true});
              }();
              std::optional<ScopedBatch> in;
              again([&] { in.emplace(batch, it.s); });
              it.add_x(1);
              again([&] { in->flush(); });
              it.add_x(10);
              again([&] { in->flush(); });
              it.add_x(1);
              it.join(it.p, it.s);
              it.add_y(3);
              again([&] { in->flush(); });
              it.add_y(4);
              it.add_x(10);
              it.join(it.s, it.p);
              again([&] { in->flush(); });
              again([&] { it.p.synchronize(); });
              in.reset();
          }) == "");
}

TEST_CASE(
    "the scope of a batch that cannot be launched for want of memory is repeated as a whole") {
    CHECK(sweep([](Twin& it) {
              std::optional<Batch> batch;
              again([&] { batch.emplace(BatchOptions{.on_cpu = true}); });
              for (int i = 0; i < 3; ++i) {
                  const std::pair<int, int> before(it.in_x, it.in_y);
                  again([&] {
                      std::tie(it.in_x, it.in_y) = before;
                      ScopedBatch in(*batch, it.s);
                      it.add_x(1 + i / 2);
                      it.join(it.p, it.s);
                      it.add_y(2);
                      std::optional<Event> event;
                      again([&] { event.emplace(it.p.record_event()); });
                      it.add_x(5);
                      again([&] { it.s.wait_event(*event); });
                      it.add_x(7);
                      in.end();
                  });
              }
          }) == "");
}

TEST_CASE(
    "memory that is allocated and freed in a batch without memory does not change its result") {
    CHECK(sweep([](Twin& it) {
              std::optional<Batch> batch;
              again([&] { batch.emplace(BatchOptions{.on_cpu = true}); });
              for (int i = 0; i < 2; ++i) {
                  std::optional<ScopedBatch> in;
                  again([&] { in.emplace(*batch, it.s); });
                  {
                      Array<int> z;
                      again([&] { z = empty<int>(it.s, n); });
                      again([&] { fill(it.s, z, 4 + i); });
                      again([&] { launch(it.s, AddTo{}, dim(n), z, it.x); });
                      it.in_x += 4 + i;
                      it.join(it.p, it.s);
                      again([&] { launch(it.p, AddTo{}, dim(n), z, it.y); });
                      it.in_y += 4 + i;
                  }
                  again([&] { in->flush(); });
              }
          }) == "");
}

TEST_CASE("a batch that is sent again for want of memory keeps its leases until it is sent") {
    CHECK(sweep([](Twin& it) {
              std::optional<StreamPool> pool;
              std::optional<Batch> batch;
              {
                  const OwnMemory own;
                  pool.emplace(test_device(), StreamPoolOptions{.max_streams = 1, .shared = 1});
                  batch.emplace(BatchOptions{.on_cpu = true});
              }
              for (int i = 0; i < 3; ++i) {
                  std::optional<ScopedBatch> in;
                  again([&] { in.emplace(*batch, it.s); });
                  // The second lease gets the stream of the first one, which is in the batch.
                  for (int k = 0; k < 2; ++k) {
                      StreamPool::Lease lease;
                      again([&] { lease = pool->lease(); });
                      it.join(lease, it.s);
                      again([&] { launch(lease, Add{}, dim(n), it.x, 1 + k); });
                      it.in_x += 1 + k;
                      it.join(it.s, lease);
                  }
                  again([&] {
                      it.leases_lost += pool->leased() != 1;
                      in->flush();
                  });
                  it.leases_lost += pool->leased() != 0;
              }
          }) == "");
}

TEST_CASE("captured calls that are refused for want of memory are in the graph once") {
    CHECK(sweep([](Twin& it) {
              Graph graph;
              again([&] {
                  std::optional<ScopedCapture> capture;
                  again([&] { capture.emplace(it.s); });
                  again([&] { launch(it.s, Add{}, dim(n), it.x, 2); });
                  it.join(it.p, it.s);
                  again([&] { launch(it.p, Add{}, dim(n), it.y, 3); });
                  std::optional<Event> event;
                  again([&] { event.emplace(it.p.record_event()); });
                  again([&] { launch(it.s, Add{}, dim(n), it.x, 5); });
                  {
                      Array<int> z;
                      again([&] { z = empty<int>(it.s, n); });
                      again([&] { fill(it.s, z, 1); });
                      again([&] { launch(it.s, AddTo{}, dim(n), z, it.x); });
                  }
                  again([&] { it.s.wait_event(*event); });
                  graph = capture->end();
              });
              for (int i = 0; i < 2; ++i) again([&] { graph.launch(it.s); });
              it.in_x += 16;
              it.in_y += 6;
              it.join(it.p, it.s);
          }) == "");
}

TEST_CASE(
    "graphs that are refused for want of memory are launched once, with the newest arguments") {
    CHECK(sweep([](Twin& it) {
              auto node = [&] {
                  for (;;) {
                      try {
                          return kernel_node(Add{}, dim(n)).args(it.x, 1);
                      } catch (const OutOfMemory&) {}
                  }
              }();
              Graph graph;
              again([&] { graph = node.build(); });
              again([&] { graph.launch(it.s); });
              again([&] { node.args(it.x, 10); });
              again([&] { graph.launch(it.s); });
              Graph copied;
              again([&] { copied = graph.clone(); });
              again([&] { node.args(it.x, 100); });
              again([&] { copied.launch(it.s); });
              again([&] { graph.launch(it.s); });
              it.in_x += 121;
          }) == "");
}

TEST_CASE("copies and fills that are refused for want of memory are made once") {
    CHECK(sweep([](Twin& it) {
              Array<int> far;
              again([&] { far = pinned<int>(n); });
              again([&] { fill(it.s, it.x, 3); });
              again([&] { copy(it.s, far, it.x); });
              it.add_x(1);
              again([&] { copy(it.s, it.x, far); });
              it.join(it.p, it.s);
              again([&] { copy(it.p, it.y, it.x); });
              it.in_x = it.in_y = 3;
              std::vector<int> back;
              again([&] { back = to_host(it.y); });
              again([&] { copy(it.p, it.x, back); });
              it.join(it.s, it.p);
              it.add_x(4);
          }) == "");
}

TEST_CASE("scopes that are refused for want of memory leave the current streams as they were") {
    CHECK(sweep([](Twin& it) {
              const StreamRef before = current_stream(test_device());
              again([&] {
                  ScopedStream in(it.s);
                  again([&] { launch(Add{}, dim(n), it.x, 1); });
                  again([&] {
                      ScopedStream inner(it.p);
                      again([&] { launch(Add{}, dim(n), it.y, 2); });
                      again([&] { launch(Add{}, dim(n), it.x, 3); });
                  });
                  again([&] { it.s.wait_stream(it.p); });
              });
              it.in_x += 4;
              it.in_y += 2;
              it.add_x(1);
              if (current_stream(test_device()) != before) it.in_x = -1;
          }) == "");
}
