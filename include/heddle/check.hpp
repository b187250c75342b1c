/// @file
/// Includes heddle/observe/check.hpp: the ordering checker.
#pragma once

#if __has_include(<heddle/observe/check.hpp>)
#include <heddle/observe/check.hpp>
#else
#error "this heddle was built without its observers: configure it with -DHEDDLE_OBSERVE=ON"
#endif
