#undef HEDDLE_BOUNDS
#define HEDDLE_BOUNDS 1
#define BOUNDS checked
#include "bounds/bodies.hpp"
