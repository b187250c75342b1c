// The environment variables that heddle reads.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <heddle/device/diagnosis.hpp>

namespace heddle::detail {

/// All environment variables of heddle. docs/guide/25-environment.md describes them. Only
/// value_of() reads them.
enum class Variable : std::uint8_t {
    cache_dir,
    cache_mib,
    check,
    cpu_devices,
    cpu_threads,
    cupti,
    device,
    host_graph_branches,
    memory_kept,
    nccl,
    nvrtc,
    nvtx,
    timeline,
    tsan_streams,
    watch,
};

/// Returns "HEDDLE_CHECK" for Variable::check.
const char* name_of(Variable variable) noexcept;

/// Returns the variable's value, or null if it is unset or empty.
const char* value_of(Variable variable) noexcept;

/// Returns the known variable that a misspelt name probably means: the two differ in the case of
/// letters or by one or two typing mistakes. Returns null for a known variable. Also returns null
/// if no known variable is similar, because the name may belong to the program.
const char* meant_variable(std::string_view name);

/// Reports each variable of the environment whose name is similar to that of a heddle variable,
/// unless that heddle variable is set as well.
void report_unknown_variables() noexcept;

/// Returns the environment's variables whose names begin with "HEDDLE_", unless they are empty, by
/// name.
std::vector<EnvironmentVariable> list_variables();

/// An integer from an environment variable, read once, at construction.
class EnvironmentNumber {
public:
    /// Uses `otherwise` if the variable is unset or is not an integer. Clamps other values to
    /// [least, most].
    EnvironmentNumber(Variable variable, int least, int most, int otherwise) noexcept;

    /// Returns the number. The first call reports a value that was rejected or clamped.
    /// Thread-safe; a report hook may call it.
    int get() noexcept;

private:
    int number_;
    std::string complaint_;  ///< empty: nothing to report
    std::atomic<bool> reported_{false};
};

}  // namespace heddle::detail
