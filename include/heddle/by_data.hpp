// Ordering by data: streams that are chosen, and waits that are inserted, from what calls read and
// write. Not part of heddle.hpp: who does not order by data does not pay for compiling it.
#pragma once

#include <heddle/concurrency/by_data_arrays.hpp>
#include <heddle/concurrency/by_data_calls.hpp>
#include <heddle/concurrency/order_by_data.hpp>
