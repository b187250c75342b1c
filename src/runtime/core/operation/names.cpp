// The names of operations and reasons, for observers.
#include <heddle/operation/observer.hpp>

namespace heddle {

const char* to_string(OpKind kind) noexcept {
    switch (kind) {
    case OpKind::launch: return "launch";
    case OpKind::graph_launch: return "graph_launch";
    case OpKind::host_function: return "host_function";
    case OpKind::copy: return "copy";
    case OpKind::fill: return "fill";
    case OpKind::allocate: return "allocate";
    case OpKind::free: return "free";
    case OpKind::record: return "record";
    case OpKind::wait: return "wait";
    case OpKind::wait_elided: return "wait_elided";
    case OpKind::dropped: return "dropped";
    case OpKind::synchronize: return "synchronize";
    case OpKind::synchronize_begin: return "synchronize_begin";
    case OpKind::query: return "query";
    case OpKind::collective: return "collective";
    case OpKind::host_access: return "host_access";
    case OpKind::host_function_begin: return "host_function_begin";
    case OpKind::make_event: return "make_event";
    case OpKind::export_event: return "export_event";
    case OpKind::import_event: return "import_event";
    case OpKind::expose: return "expose";
    case OpKind::wrap: return "wrap";
    case OpKind::wait_for_users: return "wait_for_users";
    case OpKind::used_on: return "used_on";
    case OpKind::abandon: return "abandon";
    case OpKind::blocked: return "blocked";
    case OpKind::native: return "native";
    }
    return "?";
}

const char* to_string(OpMode mode) noexcept {
    switch (mode) {
    case OpMode::run: return "run";
    case OpMode::captured: return "captured";
    case OpMode::batched: return "batched";
    }
    return "?";
}

const char* to_string(WaitReason reason) noexcept {
    switch (reason) {
    case WaitReason::user: return "user";
    case WaitReason::scope_enter: return "scope_enter";
    case WaitReason::scope_exit: return "scope_exit";
    case WaitReason::fork: return "fork";
    case WaitReason::join: return "join";
    case WaitReason::copy: return "copy";
    case WaitReason::collective: return "collective";
    case WaitReason::data: return "data";
    case WaitReason::batch: return "batch";
    case WaitReason::free_memory: return "free_memory";
    case WaitReason::graph: return "graph";
    case WaitReason::peer: return "peer";
    case WaitReason::pipeline: return "pipeline";
    default: break;
    }
    return "?";
}

}  // namespace heddle
