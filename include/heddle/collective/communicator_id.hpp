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

/// Identifies a communicator. One process makes the id, and the program sends its bytes to all
/// ranks (by MPI, a file or a socket). A plain value. Make an id for each communicator.
///
///     CommunicatorId id;
///     if (rank == 0) id = CommunicatorId::make();
///     MPI_Bcast(id.bytes.data(), id.bytes.size(), MPI_BYTE, 0, MPI_COMM_WORLD);
///
/// The ranks connect to the process that made the id, by TCP. Keep this process running: the ranks
/// learn through it which of them are missing, or have ended.
struct CommunicatorId {
    /// The bytes to send, unchanged: NCCL's, then where the process listens that made the id.
    std::array<std::byte, 256> bytes{};
    /// Makes a new id, and listens for the ranks. Throws Unsupported if NCCL is not available, and
    /// NativeError if this process cannot listen. Thread-safe.
    static CommunicatorId make(Where where = {});
    bool operator==(const CommunicatorId&) const = default;
};

}  // namespace heddle
