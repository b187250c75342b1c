// Libraries beside CUDA's driver that are looked for when a program first needs them.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

namespace heddle::detail::cu {

/// Stays loaded for the life of the process.
class SharedLibrary {
public:
    /// The file that the environment's `variable` names; else the first of `names` that the loader finds, or that is in the toolkit's folder.
    SharedLibrary(const char* variable, const std::vector<std::string>& names);

    static bool is_named(const char* variable) noexcept;  ///< whether the environment names one

    void* handle() const noexcept { return handle_; }                 ///< null: it was not found
    const std::string& problem() const noexcept { return problem_; }  ///< why, in the loader's words
    /// The function of that name; null where there is none, and then it is the first that is missing, if no other was.
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

}  // namespace heddle::detail::cu
