// Plain C++: nvcc would overload the native functions whose addresses are in the table.
#include "executables.hpp"

#include "cuda/device/driver.hpp"

#include <atomic>

namespace heddle_test {

namespace {

using heddle::detail::cu::api;

std::atomic<int> count_made{0}, count_destroyed{0};
decltype(api.cudaGraphInstantiate) instantiate = nullptr;
decltype(api.cudaGraphExecDestroy) destroy = nullptr;

}  // namespace

CountedExecutables::CountedExecutables() {
    count_made = count_destroyed = 0;
    instantiate = api.cudaGraphInstantiate;
    destroy = api.cudaGraphExecDestroy;
    api.cudaGraphInstantiate = [](cudaGraphExec_t* exec, cudaGraph_t graph,
                                  unsigned long long flags) {
        ++count_made;
        return instantiate(exec, graph, flags);
    };
    api.cudaGraphExecDestroy = [](cudaGraphExec_t exec) {
        ++count_destroyed;
        return destroy(exec);
    };
}

CountedExecutables::~CountedExecutables() {
    api.cudaGraphInstantiate = instantiate;
    api.cudaGraphExecDestroy = destroy;
}

int CountedExecutables::made() noexcept { return count_made; }
int CountedExecutables::destroyed() noexcept { return count_destroyed; }

}  // namespace heddle_test
