// NCCL communicators, and the collectives enqueued on them.
#include <array>
#include <chrono>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "collective/nccl.hpp"
#include "collective/roll_run.hpp"
#include "core/base/errors.hpp"
#include "core/base/ids.hpp"
#include "core/base/made_once.hpp"
#include "core/base/report.hpp"
#include "core/operation/calls.hpp"
#include "core/operation/host_access.hpp"
#include "core/stream/lend.hpp"
#include "core/stream/submission.hpp"
#include "core/stream/submit.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/gpu.hpp"
#include "cuda/timing/timing.hpp"
#include "nccl/library.hpp"
#include "nccl/nccl_error.hpp"
#include "nccl/rank.hpp"
#include <heddle/device/peer_access.hpp>

namespace heddle::detail {

namespace {

ncclDataType_t type_of(ElementType type) {
    switch (type) {
    case ElementType::f16: return ncclFloat16;
    case ElementType::bf16: return ncclBfloat16;
    case ElementType::f32: return ncclFloat32;
    case ElementType::f64: return ncclFloat64;
    case ElementType::u8: return ncclUint8;
    case ElementType::i32: return ncclInt32;
    case ElementType::u32: return ncclUint32;
    case ElementType::i64: return ncclInt64;
    case ElementType::u64: return ncclUint64;
    case ElementType::i8:
    case ElementType::bytes: break;
    }
    return ncclInt8;
}

ncclRedOp_t op_of(ReduceOp op) {
    switch (op) {
    case ReduceOp::product: return ncclProd;
    case ReduceOp::min: return ncclMin;
    case ReduceOp::max: return ncclMax;
    case ReduceOp::average: return ncclAvg;
    case ReduceOp::sum: break;
    }
    return ncclSum;
}

/// Enqueues the sends and receives of a scatter or gather. Skips a part that is already in place.
ncclResult_t move_parts(const Nccl& f, const NcclShare& share, ncclComm_t comm,
                        cudaStream_t stream) {
    const RankCall& call = share.call;
    const bool scatters = call.kind == CollectiveKind::scatter;
    const std::size_t bytes = (scatters ? call.receive : call.send).size * call.element;
    const int root = static_cast<int>(call.root);
    const bool is_root = share.number == call.root;
    auto* const whole = static_cast<std::byte*>((scatters ? call.send : call.receive).data);
    auto* const part = static_cast<std::byte*>((scatters ? call.receive : call.send).data);
    const bool in_place = is_root && part == whole + call.root * bytes;
    ncclResult_t code = ncclSuccess;
    if (!in_place)
        code = scatters ? f.receive(part, bytes, ncclInt8, root, comm, stream)
                        : f.send(part, bytes, ncclInt8, root, comm, stream);
    for (std::size_t i = 0; is_root && i < share.ranks && code == ncclSuccess; ++i) {
        if (in_place && i == call.root) continue;
        const int peer = static_cast<int>(i);
        code = scatters ? f.send(whole + i * bytes, bytes, ncclInt8, peer, comm, stream)
                        : f.receive(whole + i * bytes, bytes, ncclInt8, peer, comm, stream);
    }
    return code;
}

ncclResult_t enqueue_share(const Nccl& f, const NcclShare& share, ncclComm_t comm,
                           cudaStream_t stream) {
    const RankCall& call = share.call;
    const ncclDataType_t type = type_of(call.type);
    const ncclRedOp_t op = op_of(call.op);
    const int root = static_cast<int>(call.root);
    void* const from = call.send.data;
    void* const to = call.receive.data;
    const auto count = [&](const Part& part) {
        return call.type == ElementType::bytes ? part.size * call.element : part.size;
    };
    switch (call.kind) {
    case CollectiveKind::broadcast:
        return f.broadcast(to, to, count(call.receive), type, root, comm, stream);
    case CollectiveKind::scatter:
    case CollectiveKind::gather: return move_parts(f, share, comm, stream);
    case CollectiveKind::all_gather:
        return f.all_gather(from, to, count(call.send), type, comm, stream);
    case CollectiveKind::reduce:
        return f.reduce(from, to, count(call.send), type, op, root, comm, stream);
    case CollectiveKind::reduce_scatter:
        return f.reduce_scatter(from, to, count(call.receive), type, op, comm, stream);
    case CollectiveKind::all_reduce:
        return f.all_reduce(from, to, count(call.send), type, op, comm, stream);
    case CollectiveKind::exchange: {
        ncclResult_t code = ncclSuccess;
        if (call.sends && call.send.size != 0)
            code = f.send(from, count(call.send), type, root, comm, stream);
        if (code == ncclSuccess && call.receives && call.receive.size != 0)
            code =
                f.receive(to, count(call.receive), type, static_cast<int>(call.from), comm, stream);
        return code;
    }
    case CollectiveKind::barrier: break;
    }
    return ncclSuccess;
}

OpAccess access_of(const Part& part, std::size_t element, AccessMode mode) noexcept {
    return access_of({part.data, part.size * element}, part.owner, mode,
                     static_cast<std::uint32_t>(element));
}

void tell_share(const NcclShare& share, std::uint64_t collective, bool is_recorded) noexcept {
    const RankCall& call = share.call;
    OpAccess accesses[2];
    std::size_t used = 0;
    if (call.sends) accesses[used++] = access_of(call.send, call.element, AccessMode::read);
    if (call.receives) accesses[used++] = access_of(call.receive, call.element, AccessMode::write);
    const ShareMark mark(collective, static_cast<std::uint32_t>(share.number),
                         static_cast<std::uint32_t>(share.ranks));
    const Operation operation{OpKind::collective, call.call, call.call, call.where};
    tell(Access::state(share.stream), operation, is_recorded, [&](OpInfo& op, auto&& tell) {
        op.accesses = {accesses, used};
        tell();
    });
}

}  // namespace

namespace {
/// Lends a captured stream to NCCL. NCCL's work becomes one node, and the graph keeps the arrays of
/// the work alive.
class CapturedShare {
public:
    CapturedShare(StreamRecord& stream, const RankCall& call)
        : loan_{stream, call.call, call.where} {
        MemoryArgument memory[2];
        std::size_t used = 0;
        const auto add = [&](const Part& part, bool writes) {
            MemoryArgument& one = memory[used++];
            one.data = part.data;
            one.bytes = part.size * call.element;
            one.element = static_cast<std::uint32_t>(call.element);
            one.block = part.owner;
            one.writes = writes;
        };
        if (call.sends) add(call.send, false);
        if (call.receives) add(call.receive, true);
        open_loan(loan_, {memory, used});
    }
    /// Without end(), the group has failed, and the share may have been enqueued in part.
    ~CapturedShare() {
        if (has_ended_) return;
        try {
            (void)close_loan(loan_);
        } catch (...) {
            report(std::current_exception());
        }
    }
    CapturedShare(const CapturedShare&) = delete;
    CapturedShare& operator=(const CapturedShare&) = delete;

    bool is_recorded() const noexcept { return loan_.recorded.recording != 0; }
    void* native() const noexcept { return native_of(loan_); }
    void end() {
        has_ended_ = true;
        (void)close_loan(loan_);
    }

private:
    OpenLoan loan_;
    bool has_ended_ = false;
};
}  // namespace

CommunicatorId nccl_id(const SourceLocation& where) {
    const Nccl& f = nccl("CommunicatorId::make", where);
    cu::refuse_forked("CommunicatorId::make", where);
    ncclUniqueId id;
    CommunicatorId result;
    static_assert(sizeof id == nccl_id_size);
    check_nccl(f, f.unique_id(&id), "ncclGetUniqueId", Access::device(DeviceKind::cuda, 0), where);
    std::memcpy(result.bytes.data(), &id, sizeof id);
    return result;
}

namespace {

/// Lets the ranks of one process access each other's arrays, because NCCL may read and write them
/// directly. Of two ranks, the later one enables access in both directions before it joins the
/// communicator.
void meet_ranks_of_this_process(Device device, const SourceLocation& where) {
    static constinit std::mutex mutex;
    static constinit MadeOnce<std::vector<Device>> all;
    const std::lock_guard lock(mutex);
    std::vector<Device>& known = all.get();
    for (const Device other : known) {
        // This device was added before: then it enabled access with all earlier devices, and each
        // later device enabled access with it.
        if (other == device) return;
        if (!device.can_access_peer(other) || !other.can_access_peer(device)) continue;
        enable_pool_access(device, other, where);
        enable_pool_access(other, device, where);
    }
    known.push_back(device);
}

/// One call of ncclCommInitRank(), which may outlast the construction of its Communicator.
struct Connecting {
    const Nccl& f;
    const Device device;
    const SourceLocation where;
    const int size, rank;
    ncclUniqueId id{};
    ncclComm_t comm = nullptr;
    std::exception_ptr error{};

    void connect() noexcept {
        try {
            const cu::InContext in(cu::gpu(device.index(), where));
            check_nccl(f, f.init_rank(&comm, size, id, rank), "ncclCommInitRank", device, where);
        } catch (...) {
            error = std::current_exception();
        }
    }
    void abort() noexcept {
        if (error != nullptr) return;
        RankState state(f, device);
        state.begin(comm);
        state.abort();
    }
};

/// Throws the error of a rank that was not connected.
[[noreturn]] void throw_unconnected(const Connecting& connecting, RollRun how, RollMember& roll,
                                    std::chrono::milliseconds limit) {
    const ErrorSite site("Communicator", connecting.where, connecting.device);
    std::string reason;
    if (how == RollRun::ended) {
        try {
            std::rethrow_exception(connecting.error);
        } catch (const NativeError& error) {
            if (roll.ask_lost().empty()) throw;  // the error may precede the news of a rank's end
            reason = formatted(" ({})", error.info().message);
        }
    }
    if (const std::string lost = roll.lost(); !lost.empty())
        coded_error(ErrorCode::rank_lost, site,
                    "{} while NCCL connected the ranks{}: make a new communicator of the remaining "
                    "ranks",
                    lost, reason);
    coded_error(ErrorCode::rank_lost, site,
                "all ranks have joined, but NCCL has not connected them within {}: check that "
                "their hosts reach each other by the network interfaces that NCCL uses "
                "(NCCL_SOCKET_IFNAME), set NCCL_DEBUG=INFO for details, or increase "
                "CommunicatorOptions::timeout",
                time_text(limit));
}

}  // namespace

std::unique_ptr<NcclRank> nccl_join(const CommunicatorId& passed,
                                    std::unique_ptr<RollMember> member, Device device,
                                    std::chrono::milliseconds limit, const SourceLocation& where) {
    const Nccl& f = nccl("Communicator", where);
    const cu::InContext in(cu::gpu(device.index(), where));
    meet_ranks_of_this_process(device, where);
    const std::string_view bytes(reinterpret_cast<const char*>(passed.bytes.data()),
                                 passed.bytes.size());
    RollMember& roll = *member;
    auto made =
        std::make_unique<Rank>(f, device, std::hash<std::string_view>()(bytes), std::move(member));
    const auto connecting =
        std::make_shared<Connecting>(Connecting{.f = f,
                                                .device = device,
                                                .where = where,
                                                .size = static_cast<int>(roll.size()),
                                                .rank = static_cast<int>(roll.rank())});
    std::memcpy(&connecting->id, passed.bytes.data(), sizeof connecting->id);
    const RollRun how = run_unless_lost(
        roll, limit, [connecting] { connecting->connect(); },
        [connecting] { connecting->abort(); });
    if (how != RollRun::ended || connecting->error != nullptr)
        throw_unconnected(*connecting, how, roll, limit);
    made->begin(connecting->comm);
    made->watch();
    made->check("Communicator", where);  // a rank may have been lost meanwhile
    return made;
}

std::vector<std::unique_ptr<NcclRank>> nccl_join_all(const std::vector<Device>& devices,
                                                     const SourceLocation& where) {
    const Nccl& f = nccl("DeviceGroup", where);
    std::array<ncclComm_t, max_ranks> comms{};
    std::array<int, max_ranks> indices{};
    for (std::size_t i = 0; i < devices.size(); ++i) {
        cu::gpu(devices[i].index(), where);
        indices[i] = devices[i].index();
    }
    const std::uint64_t communicator = next_id();
    std::vector<std::unique_ptr<NcclRank>> ranks;
    ranks.reserve(devices.size());
    for (const Device device : devices)
        ranks.push_back(std::make_unique<Rank>(f, device, communicator, nullptr));
    const cu::InContext in(cu::gpu(indices[0], where));
    check_nccl(f, f.init_all(comms.data(), static_cast<int>(devices.size()), indices.data()),
               "ncclCommInitAll", devices[0], where);
    for (std::size_t i = 0; i < devices.size(); ++i) static_cast<Rank&>(*ranks[i]).begin(comms[i]);
    return ranks;
}

namespace {

/// Enqueues the shares as one group. If NCCL throws std::bad_alloc, some ranks may already be
/// waiting for the other ranks. So all ranks are aborted.
ncclResult_t enqueue_group(const Nccl& f, const NcclShare* shares, std::size_t count,
                           const ncclComm_t* comms, const cudaStream_t* streams) {
    std::exception_ptr thrown;
    ncclResult_t code = ncclSuccess;
    try {
        for (std::size_t i = 0; i < count && code == ncclSuccess; ++i)
            code = enqueue_share(f, shares[i], comms[i], streams[i]);
    } catch (...) {
        thrown = std::current_exception();
    }
    try {
        // Needed even after a failure: otherwise the thread's group would stay open.
        const ncclResult_t end = f.group_end();
        if (code == ncclSuccess) code = end;
    } catch (...) {
        if (thrown == nullptr) thrown = std::current_exception();
    }
    if (thrown == nullptr) return code;
    for (std::size_t i = 0; i < count; ++i) shares[i].rank->abort();
    std::rethrow_exception(thrown);
}

}  // namespace

void nccl_enqueue(const NcclShare* shares, std::size_t count) {
    const SourceLocation& where = shares[0].call.where;
    const char* const name = shares[0].call.call;
    const Device device = shares[0].stream.device();
    const Nccl& f = nccl(name, where);
    cu::refuse_forked(name, where);
    std::array<cudaStream_t, max_ranks> streams;
    std::array<ncclComm_t, max_ranks> comms;
    // A group has no member, so at most one rank is guarded.
    std::optional<Rank::Enqueue> guard;
    // Each share has a submission or a captured share.
    std::array<std::optional<Submission>, max_ranks> submissions;
    std::array<std::optional<CapturedShare>, max_ranks> captured;
    for (std::size_t i = 0; i < count; ++i) {
        const NcclShare& share = shares[i];
        StreamState& state = Access::state(share.stream);
        Rank& rank = static_cast<Rank&>(*share.rank);
        if (rank.member() != nullptr) guard.emplace(rank, record_of(state), name, where);
        if (is_captured(record_of(state))) captured[i].emplace(record_of(state), share.call);
        else submissions[i].emplace(record_of(state), where);
        comms[i] = rank.comm(name, where);
        streams[i] = static_cast<cudaStream_t>(captured[i] ? captured[i]->native() : state.native);
        if (share.call.sends) note_use(share.call.send.owner, state, false);
        if (share.call.receives) note_use(share.call.receive.owner, state);
    }
    ncclResult_t code = ncclSuccess;
    {
        const cu::InContext in(cu::gpu(device.index(), where));
        check_nccl(f, f.group_start(), "ncclGroupStart", device, where);
        code = enqueue_group(f, shares, count, comms.data(), streams.data());
    }
    if (code != ncclSuccess) {
        for (std::size_t i = 0; i < count; ++i) static_cast<Rank*>(shares[i].rank)->note_failure();
        throw_error(nccl_error(f, code, name, device, where));
    }
    const std::uint64_t number = static_cast<Rank*>(shares[0].rank)->next_collective();
    for (std::size_t i = 0; i < count; ++i) {
        StreamRecord& record = record_of(shares[i].stream);
        const bool is_recorded = captured[i] && captured[i]->is_recorded();
        if (captured[i]) captured[i]->end();
        else submissions[i]->count();
        if (guard) guard->end();
        if (!is_recorded) cu::time_end(record);
        if (is_noted()) tell_share(shares[i], number, is_recorded);
    }
}

}  // namespace heddle::detail
