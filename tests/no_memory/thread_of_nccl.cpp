// Represents NCCL in the test of faults.cpp: a library of that name that starts a thread.
#include <new>

#include <pthread.h>

namespace {

void* allocate(void* is_allocated) {
    try {
        ::operator delete(::operator new(1));
        *static_cast<bool*>(is_allocated) = true;
    } catch (const std::bad_alloc&) {
        *static_cast<bool*>(is_allocated) = false;
    }
    return nullptr;
}

}  // namespace

/// Starts a thread that allocates. Returns whether the thread got memory.
extern "C" bool heddle_test_allocate_on_a_thread() {
    bool is_allocated = false;
    pthread_t thread;
    if (pthread_create(&thread, nullptr, &allocate, &is_allocated) != 0) return false;
    pthread_join(thread, nullptr);
    return is_allocated;
}
