// Collectives by copies and kernels. The stream of each rank fetches the data for that rank; no
// rank writes to another rank's memory. At the end, each rank waits until the other ranks have read
// its data.
#include "collective/group.hpp"

#include <algorithm>
#include <limits>

namespace heddle::detail {

namespace {

/// Up to a threshold, every rank that needs the result reduces the whole array. Larger arrays are
/// divided into slices: each rank reduces one slice, and then the slices are gathered. With more
/// than two ranks, slices move less data but need one more step. That step takes about as long as a
/// GPU's link needs to transfer step_bytes.
constexpr std::size_t step_bytes = 4 << 20;
/// The threshold for ranks that work in place. Such a rank keeps its result in scratch memory until
/// all ranks have read its input, and then copies the result.
constexpr std::size_t small_in_place = 256 << 10;
/// The threshold for all_reduce on CPU devices. CPU devices share the processors, so n times the
/// work takes n times as long. Measured with four ranks on 2 cores: for 64 KB, 58 µs with the whole
/// array and 24 µs with slices; for 256 KB, 224 µs and 54 µs.
constexpr std::size_t small_on_cpu = 16 << 10;
constexpr std::size_t small_reduce_on_cpu = 256 << 10;
/// A broadcast of at least this size is divided, so that not all ranks fetch the whole array from
/// the root. Each rank fetches one slice from the root, and the other slices from the other ranks.
constexpr std::size_t spread_bytes = 4 << 20;

/// The threshold for n GPUs. Without slices, each GPU receives n - 1 times the array's size. With
/// slices, it receives 2 (n - 1) / n times the array's size.
constexpr std::size_t small_bytes(std::size_t n) {
    return n < 3 ? std::numeric_limits<std::size_t>::max() : step_bytes * n / ((n - 1) * (n - 2));
}

/// Equal slices, each of a whole number of lines (scratch_line). The last slices may be shorter.
struct Slices {
    std::size_t count, each;
    Slices(std::size_t elements, std::size_t parts, std::size_t element) : count(elements) {
        const std::size_t lines = std::max<std::size_t>(1, scratch_line / element);
        each = ((elements + parts - 1) / parts + lines - 1) / lines * lines;
    }
    std::size_t first(std::size_t i) const { return std::min(count, i * each); }
    std::size_t size(std::size_t i) const { return std::min(count, (i + 1) * each) - first(i); }
};

}  // namespace

CollectiveRun::CollectiveRun(GroupState& group, const CollectiveCall& call)
    : group_(group), call_(call), n_(group.ranks.size()), capturing_(n_) {}

void CollectiveRun::run() {
    const PerRank<Part>& whole =
        call_.kind == CollectiveKind::gather || call_.kind == CollectiveKind::all_gather
            ? call_.receive
            : call_.send;
    if (call_.kind != CollectiveKind::barrier && whole[0].size == 0) return;
    const Because collective(WaitReason::collective);
    join_capture();
    switch (call_.kind) {
    case CollectiveKind::barrier: barrier(entered); break;
    case CollectiveKind::broadcast: broadcast(); break;
    case CollectiveKind::scatter: scatter(); break;
    case CollectiveKind::gather: gather(); break;
    case CollectiveKind::all_gather: all_gather(); break;
    case CollectiveKind::reduce: reduce(); break;
    case CollectiveKind::reduce_scatter: reduce_scatter(); break;
    case CollectiveKind::all_reduce: all_reduce(); break;
    case CollectiveKind::exchange: break;
    }
    leave_capture();
}

void CollectiveRun::broadcast() {
    const PerRank<Part>& views = call_.receive;
    const std::size_t root = call_.root;
    const bool spread = n_ > 3 && views[root].size * call_.element >= spread_bytes;
    const Slices slices(views[root].size, spread ? n_ - 1 : 1, call_.element);
    // The number of the slice that a rank fetches from the root. If the array is not divided, the
    // number is 0 for all ranks.
    const auto number = [&](std::size_t rank) { return spread ? (rank + n_ - root - 1) % n_ : 0; };
    const auto want_slice = [&](std::size_t rank, std::size_t other, std::size_t k) {
        want(slice(call_, views[rank], slices.first(k), slices.size(k)),
             slice(call_, views[other], slices.first(k), slices.size(k)));
    };
    mark(root, entered);
    for (std::size_t i = 0; i < n_; ++i) wait_for(i, root, entered);
    for (std::size_t i = 0; i < n_; ++i)
        if (i != root) {
            want_slice(i, root, number(i));
            fetch(i);
            mark(i, halfway);
        }
    for (std::size_t i = 0; i < n_; ++i) wait_for(root, i, halfway);
    if (!spread) return;
    for (std::size_t i = 0; i < n_; ++i) {
        if (i == root) continue;
        for (std::size_t k = 1; k < n_; ++k) {
            const std::size_t other = (i + k) % n_;
            if (other == root) continue;
            wait_for(i, other, halfway);
            want_slice(i, other, number(other));
            fetch(i);  // copies each slice as soon as it is available
        }
        mark(i, left);
    }
    for (std::size_t i = 0; i < n_; ++i)
        for (std::size_t other = 0; i != root && other < n_; ++other)
            if (other != root) wait_for(i, other, left);
}

void CollectiveRun::scatter() {
    const std::size_t root = call_.root;
    const Offsets at = offsets_of(call_.receive);
    mark(root, entered);
    for (std::size_t i = 0; i < n_; ++i)
        if (call_.receive[i].size != 0) wait_for(i, root, entered);
    for (std::size_t i = 0; i < n_; ++i) {
        if (call_.receive[i].size == 0) continue;
        want(call_.receive[i], slice(call_, call_.send[0], at[i], call_.receive[i].size));
        fetch(i);
        if (i != root) mark(i, left);
    }
    for (std::size_t i = 0; i < n_; ++i)
        if (call_.receive[i].size != 0) wait_for(root, i, left);
}

void CollectiveRun::gather() {
    const std::size_t root = call_.root;
    const Offsets at = offsets_of(call_.send);
    for (std::size_t i = 0; i < n_; ++i)
        if (i != root && call_.send[i].size != 0) {
            mark(i, entered);
            wait_for(root, i, entered);
        }
    for (std::size_t i = 0; i < n_; ++i)
        want(slice(call_, call_.receive[0], at[i], call_.send[i].size), call_.send[i]);
    fetch(root);
    mark(root, left);
    for (std::size_t i = 0; i < n_; ++i)
        if (call_.send[i].size != 0) wait_for(i, root, left);
}

void CollectiveRun::all_gather() {
    const Offsets at = offsets_of(call_.send);
    barrier(entered);
    for (std::size_t i = 0; i < n_; ++i) {
        // Each rank begins with a different slice, so that the ranks do not all read from one rank
        // at the same time.
        for (std::size_t k = 0; k < n_; ++k) {
            const std::size_t other = (i + k) % n_;
            want(slice(call_, call_.receive[i], at[other], call_.send[other].size),
                 call_.send[other]);
        }
        fetch(i);
        mark(i, left);
    }
    meet(left);
}

void CollectiveRun::reduce() {
    const std::size_t root = call_.root, count = call_.send[0].size;
    const Part& result = call_.receive[0];
    const std::size_t small = group_.devices[0].is_cpu() ? small_reduce_on_cpu : small_bytes(n_);
    if (n_ < 3 || count * call_.element <= small) {
        need_scratch(root, 0, count);
        for (std::size_t i = 0; i < n_; ++i)
            if (i != root) {
                mark(i, entered);
                wait_for(root, i, entered);
            }
        combine(root, result, 0);
        mark(root, left);
        for (std::size_t i = 0; i < n_; ++i) wait_for(i, root, left);
        return;
    }
    // Each rank combines one slice. The root writes its slice directly into the result. The other
    // ranks write their slices into scratch memory, from which the root fetches them.
    const Slices slices(count, n_, call_.element);
    const auto at_root = [&](std::size_t i) {
        return slice(call_, result, slices.first(i), slices.size(i));
    };
    for (std::size_t i = 0; i < n_; ++i)
        need_scratch(i, i != root ? slices.size(i) * call_.element : 0, slices.size(i));
    barrier(entered);
    for (std::size_t i = 0; i < n_; ++i) {
        combine(i, i == root ? at_root(i) : kept(i, slices.size(i)), slices.first(i));
        mark(i, halfway);
    }
    wait_for_all(root, halfway);
    for (std::size_t i = 0; i < n_; ++i)
        if (i != root) want(at_root(i), kept(i, slices.size(i)));
    fetch(root);
    mark(root, left);  // already ordered after `halfway` of all ranks
    for (std::size_t i = 0; i < n_; ++i) wait_for(i, root, left);
}

void CollectiveRun::reduce_scatter() {
    const Offsets at = offsets_of(call_.receive);
    for (std::size_t i = 0; i < n_; ++i) need_scratch(i, 0, call_.receive[i].size);
    barrier(entered);
    for (std::size_t i = 0; i < n_; ++i) {
        combine(i, call_.receive[i], at[i]);
        mark(i, left);
    }
    meet(left);
}

void CollectiveRun::all_reduce() {
    const std::size_t count = call_.send[0].size;
    bool in_place = false;
    for (std::size_t i = 0; i < n_; ++i) in_place = in_place || is_in_place(i);
    const std::size_t small = group_.devices[0].is_cpu() ? small_on_cpu
                              : in_place                 ? small_in_place
                                                         : small_bytes(n_);
    if (n_ == 1 || count * call_.element <= small) return all_reduce_at_once();
    const Slices slices(count, n_, call_.element);
    const auto of = [&](std::size_t rank, std::size_t k) {
        return slice(call_, call_.receive[rank], slices.first(k), slices.size(k));
    };
    for (std::size_t i = 0; i < n_; ++i) need_scratch(i, 0, slices.size(i));
    barrier(entered);
    for (std::size_t i = 0; i < n_; ++i) {
        combine(i, of(i, i), slices.first(i));
        mark(i, halfway);
    }
    meet(halfway);
    for (std::size_t i = 0; i < n_; ++i) {
        for (std::size_t k = 1; k < n_; ++k)
            want(of(i, (i + k) % n_), of((i + k) % n_, (i + k) % n_));
        fetch(i);
        mark(i, left);
    }
    meet(left);
}

void CollectiveRun::all_reduce_at_once() {
    const std::size_t count = call_.send[0].size;
    // A rank that works in place keeps its result in scratch memory until all ranks have read its
    // input.
    const auto aside = [&](std::size_t i) { return n_ > 1 && is_in_place(i); };
    for (std::size_t i = 0; i < n_; ++i)
        need_scratch(i, aside(i) ? count * call_.element : 0, count);
    barrier(entered);
    for (std::size_t i = 0; i < n_; ++i) {
        combine(i, aside(i) ? kept(i, count) : call_.receive[i], 0);
        mark(i, left);
    }
    meet(left);
    for (std::size_t i = 0; i < n_; ++i)
        if (aside(i)) {
            want(call_.receive[i], kept(i, count));
            fetch(i);
        }
}

}  // namespace heddle::detail
