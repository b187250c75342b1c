// Owns the process's session with CUPTI, which is created on first use and never destroyed.
#include "cuda/timing/cupti.hpp"

#include "core/base/background.hpp"
#include "core/base/made_once.hpp"
#include "cuda/cupti/session.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"

namespace heddle::detail::cu {

namespace {

constinit MadeOnce<LoadedCupti> library;
constinit MadeOnce<CuptiSession> session;

constinit std::mutex beginning;
constinit int recordings = 0;  ///< number in progress

const LoadedCupti& loaded_library() {
    return library.get([] { return new LoadedCupti(load_cupti()); });
}

void poll_session(CuptiSession& of) noexcept {
    try {
        poll_in_background([&of] { return is_forked() || of.poll(); });
    } catch (...) {
        // Out of memory, or no thread can be created: the records are read only at the end of the
        // recording.
    }
}

}  // namespace

RuntimePart cupti_part() {
    RuntimePart part{.name = "CUPTI", .found = {}, .problem = {}};
    const LoadedCupti& found = loaded_library();
    part.problem = found.problem;
    std::uint32_t version = 0;
    if (found.functions.version != nullptr && found.functions.version(&version) == CUPTI_SUCCESS)
        part.found = formatted("API {}", version);
    return part;
}

std::string begin_cupti() {
    if (is_forked()) return "this process was forked";
    if (the_backend().device_count() == 0) return "there is no CUDA device";
    const LoadedCupti& loaded = loaded_library();
    if (!loaded.problem.empty()) return loaded.problem;
    CuptiSession& made = session.get([&] { return new CuptiSession(loaded.functions); });
    const std::lock_guard lock(beginning);
    std::string why_not = made.begin();
    if (why_not.empty() && recordings++ == 0) {
        cupti_is_on.store(true);
        poll_session(made);
    }
    return why_not;
}

void end_cupti() noexcept {
    CuptiSession* const made = session.if_made();
    if (made == nullptr || is_forked()) return;
    const std::lock_guard lock(beginning);
    if (--recordings == 0) cupti_is_on.store(false);
    made->end();
}

void push_cupti_id(std::uint64_t id) noexcept { session.if_made()->push(id); }
void pop_cupti_id() noexcept { session.if_made()->pop(); }

void tell_cupti_runs() noexcept {
    CuptiSession* const made = session.if_made();
    if (made != nullptr && is_recorded_by_cupti() && !is_forked() && !in_callback) made->tell();
}

RecordCounts cupti_counts() noexcept {
    const CuptiSession* const made = session.if_made();
    return made != nullptr ? made->counts() : RecordCounts{};
}

}  // namespace heddle::detail::cu
