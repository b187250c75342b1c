#include "core/base/shared_library.hpp"

#include <cstdlib>

#include <dlfcn.h>

namespace heddle::detail {

namespace {

std::vector<std::string> candidates(Variable variable, const std::vector<std::string>& names) {
    if (const char* const named = value_of(variable)) return {named};
    std::vector<std::string> all = names;
    for (const char* toolkit : {"CUDA_PATH", "CUDA_HOME"})
        if (const char* folder = std::getenv(toolkit); folder != nullptr && *folder != '\0')
            all.push_back(std::string(folder) + "/lib64/" + names.front());
    all.push_back("/usr/local/cuda/lib64/" + names.front());
    return all;
}

}  // namespace

SharedLibrary::SharedLibrary(Variable variable, const std::vector<std::string>& names) {
    for (const std::string& name : candidates(variable, names)) {
        handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle_ != nullptr) {
            problem_.clear();
            return;
        }
        if (const char* why = dlerror(); problem_.empty()) problem_ = why != nullptr ? why : name;
    }
}

void* SharedLibrary::symbol(const char* name) const noexcept { return dlsym(handle_, name); }

}  // namespace heddle::detail
