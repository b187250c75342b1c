#undef HEDDLE_BOUNDS
#define HEDDLE_BOUNDS 0
#define BOUNDS unchecked
#include "bounds/bodies.hpp"
