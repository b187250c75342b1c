#include "watch/programs/programs.hpp"
