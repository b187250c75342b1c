// The id that the ranks of a communicator share, and whether NCCL is available.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include <heddle/location.hpp>

namespace heddle HEDDLE_VISIBLE {

/// Returns why NCCL cannot be used here ("built without NCCL", "no libnccl.so.2: ..."), or an empty
/// string if it can. Loads NCCL on the first call.
std::string nccl_unavailable_reason();

/// Identifies a communicator. One rank makes the id, and the program sends its bytes to all other
/// ranks (by MPI, a file or a socket). A plain value.
///
///     CommunicatorId id;
///     if (rank == 0) id = CommunicatorId::make();
///     MPI_Bcast(id.bytes.data(), 128, MPI_BYTE, 0, MPI_COMM_WORLD);
struct CommunicatorId {
    /// The bytes to send, unchanged.
    std::array<std::byte, 128> bytes{};
    /// Makes a new id. Throws Unsupported if NCCL is not available.
    static CommunicatorId make(Where where = {});
    bool operator==(const CommunicatorId&) const = default;
};

}  // namespace heddle
