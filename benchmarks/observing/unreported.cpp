#undef HEDDLE_HOST_ACCESSES
#define HEDDLE_HOST_ACCESSES 0
#define HOST_LOOPS unreported
#include "observing/host_loop_bodies.hpp"
