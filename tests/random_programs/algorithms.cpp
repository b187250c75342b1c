#include "algorithms.hpp"

#include <heddle/algorithms.hpp>

namespace heddle_test::programs {

namespace {

/// Adds as unsigned numbers do: a sum that is too large wraps around.
struct Wraps {
    HEDDLE_FN int operator()(int a, int b) const {
        return static_cast<int>(static_cast<Word>(a) + static_cast<Word>(b));
    }
};

template <class On>
void enqueue(On& on, AlgorithmKind kind, Word b, View<const int> from, View<int> to) {
    const int begin = static_cast<int>(b);
    switch (kind) {
    case AlgorithmKind::exclusive_scan: return exclusive_scan(on, to, to, begin, Wraps());
    case AlgorithmKind::inclusive_scan: return inclusive_scan(on, to, to, Wraps());
    case AlgorithmKind::sort: return sort(on, to);
    case AlgorithmKind::reduce: return reduce(on, from, to.first(1), begin, Wraps());
    }
}

}  // namespace

void enqueue_algorithm(StreamRef on, AlgorithmKind kind, Word b, View<const int> from,
                       View<int> to) {
    enqueue(on, kind, b, from, to);
}
void enqueue_algorithm(DataOrder& on, AlgorithmKind kind, Word b, View<const int> from,
                       View<int> to) {
    enqueue(on, kind, b, from, to);
}

}  // namespace heddle_test::programs
