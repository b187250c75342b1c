// The old name of <heddle/concurrency/data_order.hpp>.
#pragma once

#include <heddle/concurrency/data_order.hpp>
