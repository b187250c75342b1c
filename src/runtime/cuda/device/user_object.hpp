// Objects owned by native graphs.
#pragma once

#include <memory>

#include "cuda/device/context.hpp"
#include "cuda/device/gpu.hpp"

namespace heddle::detail::cu {

/// Transfers the object to the graph, and returns a reference to the object. A driver thread
/// destroys the object once nothing uses it any more: the graph, its clones, their executables, and
/// launches.
template <class T>
T& give_to_graph(cudaGraph_t graph, std::unique_ptr<T> object, int device,
                 const SourceLocation& where) {
    const auto destroy = [](void* data) {
        InCallback in;
        delete static_cast<T*>(data);
    };
    cudaUserObject_t owner = nullptr;
    check(
        api.cudaUserObjectCreate(&owner, object.get(), destroy, 1, cudaUserObjectNoDestructorSync),
        "cudaUserObjectCreate", device, where);
    T& released = *object.release();
    const cudaError_t code =
        api.cudaGraphRetainUserObject(graph, owner, 1, cudaGraphUserObjectMove);
    if (code != cudaSuccess)
        note_failure(api.cudaUserObjectRelease(owner, 1), "cudaUserObjectRelease", device);
    check(code, "cudaGraphRetainUserObject", device, where);
    return released;
}

}  // namespace heddle::detail::cu
