#include "cuda/cupti/buffers.hpp"

#include <new>

namespace heddle::detail::cu {

namespace {
constexpr std::align_val_t alignment{8};  // CUPTI: ACTIVITY_RECORD_ALIGNMENT
}

void RecordBuffers::free(std::uint8_t* data) noexcept { ::operator delete(data, alignment); }

std::uint8_t* RecordBuffers::take() noexcept {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
        std::uint8_t* const found = free_.back();
        free_.pop_back();
        return found;
    }
    if (count_ == most_) return nullptr;
    try {  // reserves a slot for every buffer, so that accepting one does not allocate
        filled_.reserve(count_ + 1);
        free_.reserve(count_ + 1);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
    void* const made = ::operator new(bytes, alignment, std::nothrow);
    if (made != nullptr) ++count_;
    return static_cast<std::uint8_t*>(made);
}

void RecordBuffers::complete(std::uint8_t* data, std::size_t used) noexcept {
    if (data == nullptr) return;
    const std::lock_guard lock(mutex_);
    if (used == 0) free_.push_back(data);
    else filled_.push_back({data, used});
}

std::vector<RecordBuffers::Filled> RecordBuffers::take_filled() {
    std::vector<Filled> filled;
    const std::lock_guard lock(mutex_);
    if (filled_.empty()) return filled;
    filled.reserve(filled_.size());
    filled.assign(filled_.begin(), filled_.end());
    filled_.clear();
    return filled;
}

void RecordBuffers::give(std::uint8_t* data) noexcept {
    const std::lock_guard lock(mutex_);
    free_.push_back(data);
}

void RecordBuffers::free_unused() noexcept {
    const std::lock_guard lock(mutex_);
    for (std::uint8_t* const one : free_) free(one);
    count_ -= free_.size();
    free_.clear();
}

RecordBuffers::~RecordBuffers() {
    free_unused();
    for (const Filled& one : filled_) free(one.data);
}

}  // namespace heddle::detail::cu
