// bench_costs: loans of a stream's native handle, in core.
#include "core/stream/lend.hpp"
#include "costs/parts.hpp"

#include <heddle/heddle.hpp>

using namespace heddle;

namespace bench {

void add_loan_rows(Report& report, Device device) {
    constexpr Batches host_only{.calls = 2000, .pairs = 1000, .seconds = 0.5};
    const Stream a{device}, b{device};
    const auto lend = [&] {
        heddle::detail::OpenLoan loan{heddle::detail::record_of(b), "lend", {}};
        if (heddle::detail::begin_lend(loan, {})) heddle::detail::end_lend(loan, {});
    };
    const auto finish = [device] { synchronize_device(device); };
    report.compare("begin_lend and end_lend", device.name(), {repeat(lend), finish}, {}, host_only);
    a.wait_stream(b);
    report.compare("wait_stream, elided, for a stream that was lent", device.name(),
                   {repeat([&] { a.wait_stream(b); }), finish}, {}, host_only);
}

}  // namespace bench
