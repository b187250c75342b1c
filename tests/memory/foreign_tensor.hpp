// DLPack tensors that tests import.
#pragma once

#include "support.hpp"
#include "with/dlpack/structs.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace heddle_test {

/// Host memory, and tensors of its first 12 elements in the forms that other libraries make. The
/// destructor blocks until all deleters have been called.
class Foreign {
public:
    static constexpr std::size_t elements = 12;

    ~Foreign() { finish_adopted(); }

    int* data() { return plain.data(); }
    DLManagedTensorVersioned* tensor() {
        return new DLManagedTensorVersioned{1,     0,        this, &end<DLManagedTensorVersioned>,
                                            flags, content()};
    }
    DLManagedTensor* unversioned() {
        return new DLManagedTensor{content(), this, &end<DLManagedTensor>};
    }
    int ended() const { return ended_; }
    std::thread::id ended_by() const { return by_; }

    std::vector<int> plain = std::vector<int>(100, 1);
    std::vector<std::int64_t> shape{3, 4}, strides{4, 1};
    std::int32_t device_type = 1, device_id = 0;
    std::uint8_t code = 0, bits = 32;
    std::uint16_t lanes = 1;
    std::uint64_t flags = 0, byte_offset = 0;
    std::function<void()> at_end = [] {};

private:
    DLTensor content() {
        return {data(),
                device_type,
                device_id,
                static_cast<std::int32_t>(shape.size()),
                code,
                bits,
                lanes,
                shape.data(),
                strides.empty() ? nullptr : strides.data(),
                byte_offset};
    }
    template <class M> static void end(M* tensor) {
        Foreign& self = *static_cast<Foreign*>(tensor->context);
        delete tensor;
        self.by_ = std::this_thread::get_id();
        self.at_end();
        ++self.ended_;
    }

    std::atomic<int> ended_{0};
    std::atomic<std::thread::id> by_{};
};

/// Returns whether the view's memory still exists. If so, fills it.
inline bool is_there(StreamRef s, View<int> x) {
    return !error_of([&] { fill(s, x, 1); });
}

}  // namespace heddle_test
