#undef HEDDLE_HOST_ACCESSES
#define HEDDLE_HOST_ACCESSES 1
#define HOST_LOOPS reported
#include "observing/host_loop_bodies.hpp"
