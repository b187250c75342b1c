// Views that outlive their arrays. clang warns about them; see check.sh. A line that ends with the
// comment "warns" must cause a warning. Other lines must cause none.
#include <span>
#include <vector>

#include <heddle/by_data.hpp>
#include <heddle/heddle.hpp>

using namespace heddle;

namespace {

struct Scale {
    HEDDLE_FN void operator()(std::size_t i, View<float> x) const { x[i] *= 2; }
};

Array<float> make(std::size_t n) { return zeros<float>(n); }

// Invalid uses ----------------------------------------------------------------------------------

void variables(std::size_t n, const Array<float>& x, StreamRef s) {
    View<float> by_conversion = zeros<float>(n);            // warns
    View<const float> of_const = zeros<float>(n);           // warns
    View<float> all = make(n).view();                       // warns
    auto deduced = empty<float>(s, n).view();               // warns
    View<float> begin = full<float>(n, 1.0f).first(3);      // warns
    View<float> end = from_host({1.0f, 2.0f}).last(1);      // warns
    View<float> middle = clone(x).subview(1, 2);            // warns
    float* address = pinned<float>(n).data();               // warns
    const float* first = pageable<float>(n).begin();        // warns
    float& element = pinned<float>(n)[0];                   // warns
    View<const float> by_host = on_host(pinned<float>(n));  // warns
    View<const float> read = on_host(reads(make(n)));       // warns
    DataOrder order;
    View<const float> ordered = on_host(order, make(n));  // warns
    launch(s, Scale{}, dim(n), by_conversion);
    launch(s, Scale{}, dim(3), all), launch(s, Scale{}, dim(3), deduced);
    launch(s, Scale{}, dim(3), begin), launch(s, Scale{}, dim(1), end);
    launch(s, Scale{}, dim(2), middle);
    element = *address + *first + of_const[0] + by_host[0] + read[0] + ordered[0];
}

View<float> of_a_local(std::size_t n) {
    Array<float> local = zeros<float>(n);
    return local.view();  // warns
}

View<const float> converted(std::size_t n) {
    const Array<float> local = zeros<float>(n);
    return local;  // warns
}

float* address_of_a_local(std::size_t n) {
    Array<float> local = pinned<float>(n);
    return local.data();  // warns
}

View<float> written_local(std::size_t n) {
    Array<float> local = pinned<float>(n);
    return on_host(writes(local));  // warns
}

struct Holder {
    explicit Holder(std::size_t n) : view(make(n).view()) {}  // warns
    View<float> view;
};

void in_a_loop(std::size_t n) {
    for (const float& one : pinned<float>(n).view()) (void)one;  // warns
}

// Valid uses ------------------------------------------------------------------------------------

struct Owner {
    Array<float> array;
    View<float> part() { return array.first(2); }
    View<const float> part() const { return array.first(2); }
    float* data() { return array.data(); }
};

View<float> second_half(View<float> all) { return all.last(all.size() / 2); }
View<float> second_half(Array<float>& array) { return array.last(array.size() / 2); }
std::span<float> host_part(Array<float>& array) { return {array.data(), array.size()}; }

void right(std::size_t n, StreamRef s, Owner& owner, std::vector<float>& host) {
    Array<float> x = zeros<float>(n);
    const Array<float> fixed = make(n);
    View<float> all = x, part = x.view().first(3), last = second_half(x), half = second_half(all);
    View<const float> read = fixed, of_temporary = fixed.view().first(1), of_owner = owner.part();
    View<float> of_host = host, of_span = std::span<float>(host).first(1);
    part = all.first(2), last = View<float>(x).first(1);
    // A temporary array may be an argument: it is freed after the work.
    launch(s, Scale{}, dim(n), make(n));
    launch(s, Scale{}, dim(n), make(n).view());
    launch(s, Scale{}, dim(3), make(n).first(3));
    copy(s, all, make(n)), copy(s, all, make(n).view()), copy(all, make(n).first(n));
    fill(s, make(n).view(), 1.0f), fill(make(n), 1.0f);
    launch_host(s, signals_nothing([] {}), reads(make(n)));
    const std::vector<float> values = to_host(make(n)), some = to_host(s, make(n).first(3));
    const float one = pinned<float>(n)[0], other = *pinned<float>(n).data();
    for (const float each : pinned<float>(n)) (void)each;
    for (const float each : on_host(x)) (void)each;
    const View<const float> read_now = on_host(reads(x)), read_then = on_host(reads(all));
    const auto declared = reads(x);
    const View<const float> by_name = on_host(declared);
    for (float& each : on_host(writes(x))) each = read_now[0] + read_then[0] + by_name[0];
    const std::size_t size = make(n).view().size();
    launch(s, Scale{}, dim(size), second_half(make(n)).first(1));
    (void)host_part(x), (void)owner.data(), (void)values, (void)some, (void)one, (void)other;
    (void)read, (void)of_temporary, (void)of_owner, (void)of_host, (void)of_span, (void)half;
}

}  // namespace

int main() {
    (void)&variables, (void)&of_a_local, (void)&converted, (void)&address_of_a_local;
    (void)&written_local, (void)&in_a_loop, (void)&right, (void)sizeof(Holder(1));
}
