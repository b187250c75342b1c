#include "cuda/code/nvrtc.hpp"

#include <algorithm>

#include "core/base/errors.hpp"
#include "core/base/format.hpp"
#include <link.h>
#include <sys/stat.h>

#include "core/base/background.hpp"
#include "core/base/made_once.hpp"
#include "core/base/shared_library.hpp"
#include "cuda/device/versions.hpp"
#include <heddle/error.hpp>

namespace heddle::detail::cu {

namespace {

struct Found {
    Nvrtc functions{};
    std::string problem;  ///< empty if the library was found
};

/// Returns the size and the time of the library's file. These distinguish releases with the same
/// version, which may compile differently.
std::string file_of(void* library) {
    link_map* map = nullptr;
    struct stat file {};
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr ||
        stat(map->l_name, &file) != 0)
        return "unknown";
    return detail::formatted("{} bytes of {}", static_cast<long long>(file.st_size),
                             static_cast<long long>(file.st_mtime));
}

Found look() {
    Found found;
    SharedLibrary library(Variable::nvrtc, {nvrtc_name, "libnvrtc.so"});
    found.problem = library.problem();
    if (library.handle() == nullptr) return found;
    end_background_at_exit();  // the threads end before the library's exit handlers run

    Nvrtc& f = found.functions;
    const auto need = [&](auto& function, const char* name) { library.find(function, name); };
    need(f.error_text, "nvrtcGetErrorString"), need(f.version, "nvrtcVersion");
    need(f.count_architectures, "nvrtcGetNumSupportedArchs");
    need(f.list_architectures, "nvrtcGetSupportedArchs");
    need(f.create, "nvrtcCreateProgram"), need(f.destroy, "nvrtcDestroyProgram");
    need(f.compile, "nvrtcCompileProgram");
    need(f.ptx_size, "nvrtcGetPTXSize"), need(f.get_ptx, "nvrtcGetPTX");
    need(f.cubin_size, "nvrtcGetCUBINSize"), need(f.get_cubin, "nvrtcGetCUBIN");
    need(f.log_size, "nvrtcGetProgramLogSize"), need(f.get_log, "nvrtcGetProgramLog");
    need(f.add_name, "nvrtcAddNameExpression"), need(f.lowered_name, "nvrtcGetLoweredName");
    if (!library.missing().empty()) {
        found.problem =
            formatted("the library lacks {}, so it is not NVRTC, or is too old", library.missing());
        return found;
    }

    int major = 0, minor = 0, count = 0;
    if (f.version(&major, &minor) != 0 || f.count_architectures(&count) != 0 || count <= 0) {
        found.problem = "the library's version cannot be read";
        return found;
    }
    f.architectures.resize(static_cast<std::size_t>(count));
    f.list_architectures(f.architectures.data());
    std::ranges::sort(f.architectures);
    f.identity = detail::formatted("NVRTC {}.{}, {}", major, minor, file_of(library.handle()));
    return found;
}

}  // namespace

const Nvrtc& nvrtc(const SourceLocation& where) {
    static constinit MadeOnce<Found> once;
    const Found& found = once.get([] { return new Found(look()); });
    if (found.problem.empty()) return found.functions;
    const bool named = value_of(Variable::nvrtc) != nullptr;
    unsupported_error(
        {"compile", where}, "CUDA C++ cannot be compiled, because NVRTC cannot be loaded: {}. {}",
        found.problem,
        named ? "Correct HEDDLE_NVRTC, which selects the library"
              : "Install the CUDA toolkit's libnvrtc, or set HEDDLE_NVRTC to its path");
}

}  // namespace heddle::detail::cu
