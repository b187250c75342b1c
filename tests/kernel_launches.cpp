#include "kernel_launches.hpp"

#include "kernels.hpp"

namespace heddle_test::shared {

using heddle::Array;
using heddle::Dim;
using heddle::StreamRef;
using heddle::View;

template <class K> struct Named;
template <> struct Named<Set> {
    using Kernel = heddle_test::Set;
};
template <> struct Named<Add> {
    using Kernel = heddle_test::Add;
};
template <> struct Named<Multiply> {
    using Kernel = heddle_test::Multiply;
};
template <> struct Named<AddTo> {
    using Kernel = heddle_test::AddTo;
};
template <> struct Named<CopyKernel> {
    using Kernel = heddle_test::CopyKernel;
};

template <TakesValue K, class To>
void launch_value(StreamRef stream, const Dim<1>& d, To& y, int value) {
    heddle::launch(stream, typename Named<K>::Kernel{}, d, y, value);
}
template <class To> void launch_iota(StreamRef stream, const Dim<1>& d, To& y) {
    heddle::launch(stream, heddle_test::Iota{}, d, y);
}
template <TakesSource K, class From, class To>
void launch_source(StreamRef stream, const Dim<1>& d, const From& x, To& y) {
    heddle::launch(stream, typename Named<K>::Kernel{}, d, x, y);
}

#define INSTANTIATE_VALUE(K)                                                                       \
    template void launch_value<K>(StreamRef, const Dim<1>&, Array<int>&, int);                     \
    template void launch_value<K>(StreamRef, const Dim<1>&, View<int>&, int);                      \
    template void launch_value<K>(StreamRef, const Dim<1>&, const View<int>&, int);
INSTANTIATE_VALUE(Set)
INSTANTIATE_VALUE(Add)
INSTANTIATE_VALUE(Multiply)

template void launch_iota(StreamRef, const Dim<1>&, Array<int>&);
template void launch_iota(StreamRef, const Dim<1>&, View<int>&);
template void launch_iota(StreamRef, const Dim<1>&, const View<int>&);

#define INSTANTIATE_SOURCE(K)                                                                      \
    template void launch_source<K>(StreamRef, const Dim<1>&, const Array<int>&, Array<int>&);      \
    template void launch_source<K>(StreamRef, const Dim<1>&, const Array<int>&, View<int>&);       \
    template void launch_source<K>(StreamRef, const Dim<1>&, const View<int>&, Array<int>&);       \
    template void launch_source<K>(StreamRef, const Dim<1>&, const View<const int>&, Array<int>&);
INSTANTIATE_SOURCE(AddTo)
INSTANTIATE_SOURCE(CopyKernel)

}  // namespace heddle_test::shared
