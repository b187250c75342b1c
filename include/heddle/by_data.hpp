// Ordering by data: chooses streams and inserts waits according to the memory that calls read and
// write. Not part of heddle.hpp, to keep that quick to compile.
#pragma once

#include <heddle/concurrency/by_data_arrays.hpp>
#include <heddle/concurrency/by_data_calls.hpp>
#include <heddle/concurrency/data_order.hpp>
