// The old name of <heddle/stream/signals_nothing.hpp>.
#pragma once

#include <heddle/stream/signals_nothing.hpp>
