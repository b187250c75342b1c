// Runs of random programs, for tests that run them in several modes or leave waits out of them.
#pragma once

#include "random_programs/model.hpp"
#include "random_programs/runner.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace heddle_test::programs {

/// Whether HEDDLE_RANDOM_MODES selects the mode.
bool is_wanted(Mode mode);

/// Whether programs create and destroy streams (HEDDLE_RANDOM_WITHOUT).
bool temporaries();

/// Returns the devices under test. On CUDA, every third program also has CPU streams.
std::vector<Device> devices_for(std::uint64_t seed);

std::string title(std::uint64_t seed, Mode mode, RunOptions options);

/// Runs programs for a part of the available time. If `pests` is negative, the seed decides their
/// number.
void run_programs(double part, std::initializer_list<Mode> modes, int pests);

struct Missed {
    WaitName wait;
    Race race;
};

/// Returns each necessary wait, and the race without it. Two conflicting statements then have no
/// order, not even one that happens to exist in practice.
std::vector<Missed> needed_waits(const Program& program, Mode mode);

}  // namespace heddle_test::programs
