// Host loops over an array, compiled twice: with accesses reported to a check, and as in a release
// build.
#pragma once

#include <heddle/memory/array.hpp>

namespace bench::reported {  // compiled with HEDDLE_HOST_ACCESSES=1
float sum_by_index(const heddle::Array<float>& x);
void add_by_index(heddle::Array<float>& x, const heddle::Array<float>& y);
float sum_by_range(const heddle::Array<float>& x);
}  // namespace bench::reported

namespace bench::unreported {  // compiled with HEDDLE_HOST_ACCESSES=0
float sum_by_index(const heddle::Array<float>& x);
void add_by_index(heddle::Array<float>& x, const heddle::Array<float>& y);
float sum_by_range(const heddle::Array<float>& x);
}  // namespace bench::unreported
