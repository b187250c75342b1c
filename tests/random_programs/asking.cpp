#include "asking.hpp"

#include <heddle/by_data.hpp>

namespace heddle_test::programs {

namespace {

bool always(const BufferInfo&, bool) { return true; }
/// Returns whether the host can access the memory.
bool on_host_only(const BufferInfo& x, bool is_cuda) {
    return x.space != Space::device || !is_cuda;
}
/// Returns whether kernels of the device can access the memory.
bool on_device_only(const BufferInfo& x, bool is_cuda) {
    return x.space != Space::pageable || !is_cuda;
}
bool pageable_only(const BufferInfo& x, bool) { return x.space == Space::pageable; }
/// A copy of pageable memory always waits for the memory's users, even if it names a stream.
bool not_pageable(const BufferInfo& x, bool) { return x.space != Space::pageable; }
bool pinned_or_on_cpu(const BufferInfo& x, bool is_cuda) {
    return not_pageable(x, is_cuda) && on_host_only(x, is_cuda);
}

std::vector<int> elements_of(View<const int> x) { return {x.begin(), x.end()}; }

struct ReadInto {
    HEDDLE_FN void operator()(std::size_t i, View<const int> from, View<int> to) const {
        to[i] = from[i];
    }
};

constexpr Way ways[] = {
    {"to_host(x)", Hears::users, always, [](StreamRef, const Array<int>& x) { return to_host(x); }},
    {"to_host(order, x)", Hears::users, always,
     [](StreamRef s, const Array<int>& x) {
         DataOrder order(s.device());
         return to_host(order, x);
     }},
    {"copy(order, vector, x)", Hears::users, always,
     [](StreamRef s, const Array<int>& x) {
         DataOrder order(s.device());
         std::vector<int> values(x.size());
         copy(order, values, x);
         return values;
     }},
    {"copy(order, pinned, x), order.synchronize()", Hears::users, always,
     [](StreamRef s, const Array<int>& x) {
         DataOrder order(s.device());
         Array<int> to = pinned<int>(x.size());
         copy(order, to, x);
         order.synchronize();
         return elements_of(std::as_const(to).view());
     }},
    {"clone(order, x), to_host(the clone)", Hears::users, always,
     [](StreamRef s, const Array<int>& x) {
         DataOrder order(s.device());
         const Array<int> to = clone(order, x);
         return to_host(to);
     }},
    {"a kernel through an order, to_host(order, what it wrote)", Hears::users, on_device_only,
     [](StreamRef s, const Array<int>& x) {
         DataOrder order(s.device());
         Array<int> to = zeros<int>(order, x.size());
         launch(order, ReadInto{}, dim(x.size()), x, to);
         return to_host(order, to);
     }},
    {"a task of an order, join(), synchronize()", Hears::users, always,
     [](StreamRef s, const Array<int>& x) {
         DataOrder order(s.device());
         Array<int> to = pinned<int>(x.size());
         order.task({reads(x), writes(to)}, [&](StreamRef on) { copy(on, to, x); });
         order.join();
         s.synchronize();
         return elements_of(std::as_const(to).view());
     }},
    {"on_host(order, x)", Hears::users, on_host_only,
     [](StreamRef s, const Array<int>& x) {
         DataOrder order(s.device());
         return elements_of(on_host(order, x));
     }},
    {"a host function through an order, the order's end, synchronize()", Hears::users, on_host_only,
     [](StreamRef s, const Array<int>& x) {
         std::vector<int> values;
         {
             DataOrder order(s.device());
             launch_host(order, [&, view = x.view()] { values = elements_of(view); }, reads(x));
         }
         s.synchronize();
         return values;
     }},
    {"copy(s, pinned, pageable x), synchronize()", Hears::users, pageable_only,
     [](StreamRef s, const Array<int>& x) {
         Array<int> to = pinned<int>(x.size());
         copy(s, to, x);
         s.synchronize();
         return elements_of(std::as_const(to).view());
     }},
    {"to_host(s, x)", Hears::stream, not_pageable,
     [](StreamRef s, const Array<int>& x) { return to_host(s, x); }},
    {"copy(s, vector, x)", Hears::stream, not_pageable,
     [](StreamRef s, const Array<int>& x) {
         std::vector<int> values(x.size());
         copy(s, values, x);
         return values;
     }},
    {"copy(s, pinned, x), s.synchronize()", Hears::stream, not_pageable,
     [](StreamRef s, const Array<int>& x) {
         Array<int> to = pinned<int>(x.size());
         copy(s, to, x);
         s.synchronize();
         return elements_of(std::as_const(to).view());
     }},
    {"clone(s, x), to_host(the clone)", Hears::clone, not_pageable,
     [](StreamRef s, const Array<int>& x) {
         const Array<int> to = clone(s, x);
         const Stream own(s.device());
         const ScopedStream in(own, {.wait_on_enter = false});
         return to_host(to);
     }},
    {"s.synchronize(), on_host(x)", Hears::only_waits, pinned_or_on_cpu,
     [](StreamRef s, const Array<int>& x) {
         s.synchronize();
         return elements_of(on_host(x));
     }},
};

}  // namespace

std::span<const Way> ways_to_ask() { return ways; }

}  // namespace heddle_test::programs
