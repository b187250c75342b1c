// heddle with cuBLAS: each loan sets the stream and the workspace again. A separate workspace for
// each stream lets two streams, and graphs, use one handle.
#include "want.hpp"

#include <heddle/cuda.hpp>
#include <heddle/heddle.hpp>

#include <cublas_v2.h>

#include <stdexcept>

using namespace heddle;

namespace {

void check_blas(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
}

/// A cuBLAS handle for several streams, used by one thread at a time.
class Blas {
public:
    Blas() { check_blas(cublasCreate(&handle_)); }
    ~Blas() { cublasDestroy(handle_); }
    Blas(const Blas&) = delete;
    Blas& operator=(const Blas&) = delete;

    /// y += a * x
    void axpy(StreamRef stream, Array<std::byte>& workspace, float a, const Array<float>& x,
              Array<float>& y) {
        with_native(
            stream,
            [&](cudaStream_t native) {
                check_blas(cublasSetStream(handle_, native));  // resets the workspace
                check_blas(cublasSetWorkspace(handle_, workspace.data(), workspace.size()));
                const int n = static_cast<int>(x.size());
                check_blas(cublasSaxpy(handle_, n, &a, x.data(), 1, y.data(), 1));
            },
            reads(x), writes(y, workspace));
    }

private:
    cublasHandle_t handle_ = nullptr;
};

}  // namespace

int main() {
    if (device_count(DeviceKind::cuda) == 0) return 77;
    const ScopedDevice on{Device("cuda:0")};
    const std::size_t n = 1000;
    Stream s, t;
    Blas blas;
    auto workspace_s = empty<std::byte>(s, 4 << 20), workspace_t = empty<std::byte>(t, 4 << 20);
    Array<float> x = full<float>(s, n, 1), y = full<float>(s, n, 2), z = full<float>(t, n, 3);
    const OpCounter counting;
    t.wait_stream(s);
    blas.axpy(s, workspace_s, 2, x, y);
    blas.axpy(t, workspace_t, 2, x, z);
    want_one_wait(t, s, "a wait for the library's work");
    blas.axpy(t, workspace_t, 1, y, z);
    want(to_host(t, z)[n - 1] == 9, "3 + 2 * 1 + (2 + 2 * 1)");

    s.wait_stream(t);
    Graph graph = capture(s, [&] {
        blas.axpy(s, workspace_s, 1, x, y);
        launch(s, [] HEDDLE_FN(std::size_t i, View<float> v) { v[i] *= 2; }, dim(n), y);
    });
    graph.launch(s), graph.launch(s);
    want(to_host(s, y)[0] == 22, "((4 + 1) * 2 + 1) * 2");
    return bad != 0;
}
