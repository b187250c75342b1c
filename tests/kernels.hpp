// Portable kernels that several tests launch. They are named types at namespace scope, because nvcc
// does not accept local types as kernels.
#pragma once

#include <heddle/heddle.hpp>

#include <cstddef>

namespace heddle_test {

/// y[i] = value
struct Set {
    template <class T> HEDDLE_FN void operator()(std::size_t i, heddle::View<T> y, T value) const {
        y[i] = value;
    }
};

/// y[i] += value
struct Add {
    template <class T> HEDDLE_FN void operator()(std::size_t i, heddle::View<T> y, T value) const {
        y[i] += value;
    }
};

/// y[i] *= value
struct Multiply {
    template <class T> HEDDLE_FN void operator()(std::size_t i, heddle::View<T> y, T value) const {
        y[i] *= value;
    }
};

/// y[i] = i
struct Iota {
    HEDDLE_FN void operator()(std::size_t i, heddle::View<int> y) const {
        y[i] = static_cast<int>(i);
    }
};

/// y[i] += x[i]
struct AddTo {
    HEDDLE_FN void operator()(std::size_t i, heddle::View<const int> x, heddle::View<int> y) const {
        y[i] += x[i];
    }
};

/// y[i] = x[i]
struct CopyKernel {
    HEDDLE_FN void operator()(std::size_t i, heddle::View<const int> x, heddle::View<int> y) const {
        y[i] = x[i];
    }
};

}  // namespace heddle_test
