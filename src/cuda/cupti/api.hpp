// The CUPTI functions that heddle calls, in one table, so that tests can put others in their place.
#pragma once

#include <string>

#include <cupti.h>

namespace heddle::detail::cu {

struct CuptiApi {
    decltype(&cuptiGetVersion) version;
    decltype(&cuptiGetResultString) result_text;
    decltype(&cuptiGetTimestamp) timestamp;
    decltype(&cuptiSubscribe) subscribe;
    decltype(&cuptiUnsubscribe) unsubscribe;
    decltype(&cuptiEnableCallback) enable_callback;
    decltype(&cuptiGetGraphNodeId) graph_node_id;
    decltype(&cuptiActivityRegisterCallbacks) register_buffers;
    decltype(&cuptiActivityEnable) enable;
    decltype(&cuptiActivityDisable) disable;
    decltype(&cuptiActivityFlushAll) flush;
    decltype(&cuptiActivityGetNextRecord) next_record;
    decltype(&cuptiActivityGetNumDroppedRecords) dropped;
    decltype(&cuptiActivityPushExternalCorrelationId) push_id;
    decltype(&cuptiActivityPopExternalCorrelationId) pop_id;
};

/// The library, or why there is none.
struct LoadedCupti {
    CuptiApi functions{};
    std::string problem;  ///< empty if the library is there
};

/// Loads the library: the one that HEDDLE_CUPTI names, else where the linker, a loaded CUDA runtime
/// or CUDA's installer have it.
LoadedCupti load_cupti();

}  // namespace heddle::detail::cu
