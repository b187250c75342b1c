/// @file
/// Includes heddle/observe/timeline.hpp: the timeline.
#pragma once

#if __has_include(<heddle/observe/timeline.hpp>)
#include <heddle/observe/timeline.hpp>
#else
#error "this heddle was built without its observers: configure it with -DHEDDLE_OBSERVE=ON"
#endif
