// Algorithms on arrays and views, for a stream or a DataOrder: reductions, scans, sorts and
// histograms. Not part of <heddle/heddle.hpp>, because nvcc takes long to compile CUB.
//
//     reduce(s, x, sum);
//     sort_by_key(s, keys, values);
#pragma once

#include <heddle/algorithms/histogram.hpp>
#include <heddle/algorithms/min_max.hpp>
#include <heddle/algorithms/reduce.hpp>
#include <heddle/algorithms/scan.hpp>
#include <heddle/algorithms/sort.hpp>
