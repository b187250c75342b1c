// The CUPTI functions that heddle calls, in one table, so that tests can replace them.
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

/// The loaded library, or the reason why it was not loaded.
struct LoadedCupti {
    CuptiApi functions{};
    std::string problem;  ///< empty if the library was found
};

/// Loads the library: the file named by HEDDLE_CUPTI, otherwise one found by the linker, beside a
/// loaded CUDA runtime, or in CUDA's installation folders.
LoadedCupti load_cupti();

}  // namespace heddle::detail::cu
