// The primitives of collectives.
#include "collective/group.hpp"

#include <algorithm>
#include <utility>

#include <heddle/memory/copy.hpp>
#include <heddle/memory/detail/regions.hpp>
#include <heddle/memory/make_array.hpp>

namespace heddle::detail {

namespace {

/// The most bytes of each rank that are staged at once for combining.
constexpr std::size_t piece_bytes = 8 << 20;
/// Up to this many bytes, one kernel copies all parts that a rank has to fetch.
constexpr std::size_t fetch_bytes = 8 << 20;
constexpr std::size_t fetch_bytes_on_cpu = 16 << 10;

constexpr std::size_t rounded(std::size_t bytes) {
    return (bytes + scratch_line - 1) / scratch_line * scratch_line;
}

}  // namespace

void CollectiveRun::join_capture() {
    for (std::size_t i = 0; i < n_ && capturing_ == n_; ++i)
        if (stream(i).is_capturing()) capturing_ = i;
    if (capturing_ == n_) return;
    for (std::size_t i = 0; i < n_; ++i)
        if (!stream(i).is_capturing()) {
            stream(i).wait_stream(stream(capturing_), call_.where);
            joined_.push_back(i);
        }
}

void CollectiveRun::leave_capture() {
    for (const std::size_t i : joined_) stream(capturing_).wait_stream(stream(i), call_.where);
}

void CollectiveRun::mark(std::size_t rank, Moment moment) {
    const ShareMark share = share_of(rank);
    stream(rank).record_event(group_.ranks[rank].*moment, call_.where);
}

void CollectiveRun::wait_for(std::size_t rank, std::size_t other, Moment moment) {
    if (rank == other) return;
    const ShareMark share = share_of(rank);
    stream(rank).wait_event(group_.ranks[other].*moment, call_.where);
}

void CollectiveRun::wait_for_all(std::size_t rank, Moment moment) {
    for (std::size_t k = 1; k < n_; ++k) wait_for(rank, (rank + k) % n_, moment);
}

// Makes each rank wait for all others, directly or through rank 0. Directly, the host enqueues n *
// (n - 1) waits. Through rank 0, it enqueues only 2 * (n - 1) waits, but the devices need one more
// step. In a graph, waits cost the host nothing, so captures use the direct way.
void CollectiveRun::meet(Moment moment) {
    if (n_ <= 3 || capturing_ != n_) {
        for (std::size_t i = 0; i < n_; ++i) wait_for_all(i, moment);
        return;
    }
    wait_for_all(0, moment);
    mark(0, moment);
    for (std::size_t i = 1; i < n_; ++i) wait_for(i, 0, moment);
}

void CollectiveRun::barrier(Moment moment) {
    for (std::size_t i = 0; i < n_; ++i) mark(i, moment);
    meet(moment);
}

void CollectiveRun::copy(std::size_t rank, const Part& to, const Part& from) {
    if (to.data == from.data || to.size == 0) return;
    const ShareMark share = share_of(rank);
    const auto region = [&](const Part& part) {
        const std::size_t bytes = part.size * call_.element;
        return Region{{part.data, bytes, 1, bytes}, part.owner};
    };
    copy_regions(stream(rank), region(to), region(from), call_.where);
}

void CollectiveRun::want(const Part& to, const Part& from) {
    if (to.data != from.data && to.size != 0) wanted_[wanted_count_++] = {to, from};
}

void CollectiveRun::fetch(std::size_t rank) {
    const std::size_t count = std::exchange(wanted_count_, 0);
    const bool on_cpu = group_.devices[rank].is_cpu();
    std::size_t bytes = 0;
    bool together = count > (on_cpu ? 1 : 0) && can_fetch(wanted_.data(), count);
    for (std::size_t k = 0; k < count; ++k) {
        bytes += wanted_[k].to.size * call_.element;
        together = together && reaches(rank, wanted_[k].from);
    }
    if (together && bytes <= (on_cpu ? fetch_bytes_on_cpu : fetch_bytes)) {
        const ShareMark share = share_of(rank);
        for (std::size_t k = 0; k < count; k += fetch_width)
            launch_fetch(stream(rank), &wanted_[k], std::min(fetch_width, count - k), call_.element,
                         call_.where);
        return;
    }
    for (std::size_t k = 0; k < count; ++k) copy(rank, wanted_[k].to, wanted_[k].from);
}

bool CollectiveRun::reaches(std::size_t rank, const Part& part) const {
    // The location of memory that heddle did not allocate is unknown.
    return group_.options.access && part.owner != nullptr &&
           peer_reachable(*part.owner, *call_.streams[rank]);
}

std::size_t CollectiveRun::staged(std::size_t rank) const {
    if (n_ == 1) return 0;
    std::size_t pieces = n_ > reduce_width ? 1 : 0;  // one more piece for the partial result
    for (std::size_t other = 0; other < n_; ++other)
        if (!reaches(rank, other)) ++pieces;
    return pieces;
}

std::size_t CollectiveRun::piece(std::size_t count) const {
    return std::min(count, piece_bytes / call_.element);
}

void CollectiveRun::need_scratch(std::size_t rank, std::size_t kept, std::size_t count) {
    const std::size_t bytes = rounded(kept) + staged(rank) * rounded(piece(count) * call_.element);
    if (bytes == 0) return;
    if (scratch_.empty()) scratch_.resize(n_);
    const StreamRef s = stream(rank);
    Array<std::byte>* memory = &group_.ranks[rank].scratch;
    if (capturing_ != n_) {
        memory = &of_capture_.emplace_back(empty<std::byte>(s, bytes, call_.where));
    } else if (memory->size() < bytes || group_.ranks[rank].scratch_stream != s.id()) {
        // A different stream gets new memory, so it need not wait for the stream that used the old
        // memory.
        memory->reset();
        *memory = empty<std::byte>(s, bytes, call_.where);
        group_.ranks[rank].scratch_stream = s.id();
    }
    const View<std::byte> view = memory->view();
    scratch_[rank] = {view.data(), view.data() + rounded(kept), Access::block(view)};
}

void CollectiveRun::combine(std::size_t rank, const Part& to, std::size_t first) {
    if (n_ == 1) return copy(rank, to, slice(call_, call_.send[0], first, to.size));
    const bool in_place = staged(rank) == 0;
    const std::size_t step = in_place ? to.size : piece(to.size);
    for (std::size_t begin = 0; begin < to.size; begin += step) {
        const std::size_t count = std::min(step, to.size - begin);
        std::byte* next = in_place ? nullptr : scratch_[rank].staging;
        const auto take = [&] {
            const Part part{next, count, scratch_[rank].owner};
            next += rounded(step * call_.element);
            return part;
        };
        std::array<Part, max_ranks> sources;
        for (std::size_t k = 0; k < n_; ++k) {  // each rank begins with a different source
            const std::size_t other = (rank + k) % n_;
            const Part there = slice(call_, call_.send[other], first + begin, count);
            sources[other] = reaches(rank, other) ? there : take();
            copy(rank, sources[other], there);
        }
        combine_sources(rank, slice(call_, to, begin, count), sources.data(),
                        n_ > reduce_width ? take() : Part{nullptr, 0, nullptr});
    }
}

void CollectiveRun::combine_sources(std::size_t rank, const Part& to, const Part* sources,
                                    const Part& between) {
    const ShareMark share = share_of(rank);
    const auto launch = [&](const Part& target, const Part* parts, std::size_t count, bool last) {
        const ReduceOp op = call_.op == ReduceOp::average && !last ? ReduceOp::sum : call_.op;
        launch_reduce(stream(rank), call_.type, op, target, parts, count, n_, call_.where);
    };
    if (n_ <= reduce_width) return launch(to, sources, n_, true);
    launch(between, sources, reduce_width, false);
    for (std::size_t done = reduce_width; done < n_;) {
        std::array<Part, reduce_width> parts{between};
        const std::size_t more = std::min(reduce_width - 1, n_ - done);
        std::copy_n(sources + done, more, parts.begin() + 1);
        done += more;
        launch(done == n_ ? to : between, parts.data(), more + 1, done == n_);
    }
}

}  // namespace heddle::detail
