// Objects that CUDA's graphs own.
#pragma once

#include <memory>

#include "cuda/gpu.hpp"

namespace heddle::detail::cu {

/// Gives the object to the graph. It is destroyed, on a thread of the driver's, when neither the graph, nor its clones, nor what was
/// instantiated of them, nor a launch can use it any more.
template <class T>
T& give_to_graph(cudaGraph_t graph, std::unique_ptr<T> object, int device, const SourceLocation& where) {
    const auto destroy = [](void* data) {
        InCallback in;
        delete static_cast<T*>(data);
    };
    cudaUserObject_t owner = nullptr;
    check(api.cudaUserObjectCreate(&owner, object.get(), destroy, 1, cudaUserObjectNoDestructorSync),
          "cudaUserObjectCreate", device, where);
    T& given = *object.release();
    const cudaError_t code = api.cudaGraphRetainUserObject(graph, owner, 1, cudaGraphUserObjectMove);
    if (code != cudaSuccess)
        note_failure(api.cudaUserObjectRelease(owner, 1), "cudaUserObjectRelease", device);
    check(code, "cudaGraphRetainUserObject", device, where);
    return given;
}

}  // namespace heddle::detail::cu
