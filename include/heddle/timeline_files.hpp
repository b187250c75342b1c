/// @file
/// Includes heddle/observe/timeline_files.hpp: the files of timelines.
#pragma once

#if __has_include(<heddle/observe/timeline_files.hpp>)
#include <heddle/observe/timeline_files.hpp>
#else
#error "this heddle was built without its observers: configure it with -DHEDDLE_OBSERVE=ON"
#endif
