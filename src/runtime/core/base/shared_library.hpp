// Shared libraries, other than the CUDA driver, that are loaded when they are first needed.
#pragma once

#include <string>
#include <vector>

#include "core/base/environment.hpp"

namespace heddle::detail {

/// A library loaded by dlopen(). It stays loaded for the life of the process.
class SharedLibrary {
public:
    /// Loads the file that the environment's `variable` names. If the variable is unset, loads the
    /// first of `names` that the loader finds, else `names.front()` from the CUDA toolkit's lib64
    /// folder. Does not throw if no library can be loaded: see handle().
    SharedLibrary(Variable variable, const std::vector<std::string>& names);

    /// Returns null if no library could be loaded.
    void* handle() const noexcept { return handle_; }
    /// Returns dlerror()'s message for the first file that could not be loaded.
    const std::string& problem() const noexcept { return problem_; }
    /// Looks up the function `name`. If the library has no such function, sets `function` to null;
    /// missing() returns the first missing name.
    template <class F> void find(F& function, const char* name) {
        function = reinterpret_cast<F>(symbol(name));
        if (function == nullptr && missing_.empty()) missing_ = name;
    }
    const std::string& missing() const noexcept { return missing_; }

private:
    void* symbol(const char* name) const noexcept;

    void* handle_ = nullptr;
    std::string problem_, missing_;
};

}  // namespace heddle::detail
