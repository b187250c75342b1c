// Marks threads that run a stream's work: they must not wait.
#pragma once

#include <heddle/error.hpp>

namespace heddle::detail {

/// Throws UsageError if called inside a host function or CPU kernel, which must not wait. `call`
/// names the public function that would wait.
void check_may_wait(const char* call, const SourceLocation& where);

/// Marks this thread as running a stream's work for the lifetime of the object.
class InHostFunction {
public:
    InHostFunction() noexcept;
    ~InHostFunction();

private:
    bool before_;
};

}  // namespace heddle::detail
