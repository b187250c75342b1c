"""CuPy with a library made with heddle: python3 with_cupy.py libheddle_dlpack.so

As with_torch.py. Status 0: all holds; 1: something does not; 77: no CuPy, or no GPU.
"""
import sys

try:
    import cupy
    GPUS = cupy.cuda.runtime.getDeviceCount()
except Exception as error:  # also CUDARuntimeError: no device or driver
    print(f'skipped: no CuPy, or none that works here ({error})')
    sys.exit(77)

from heddle_dlpack import CUDA, OWN, load, made, passed, take, try_on_gpu, want
import heddle_dlpack

library = load(sys.argv[1])
if library.heddle_gpus() == 0 or GPUS == 0:
    print('skipped: no GPU')
    sys.exit(77)
ROWS, COLUMNS = 1000, 512
N = ROWS * COLUMNS


def on_gpu(stream, is_held):
    """Enqueues all of it behind a gate, if is_held, and reads results when the gate is open."""
    how = f'stream {stream.ptr:#x}, ' + ('behind a gate' if is_held else 'to warm up')
    gpu = cupy.cuda.runtime.getDevice()
    with stream:
        number = stream.ptr or 1  # 1 is DLPack's number of the legacy default stream
        x = cupy.zeros((ROWS, COLUMNS), dtype=cupy.float32)
        cupy.cuda.runtime.deviceSynchronize()
        if is_held:
            want(library.hold(CUDA, gpu, number) == 0, f'a gate holds CuPy ({how})')
        x.fill(1)
        want(library.add(*take(x, stream=number), number, 2.0) == 0, 'heddle takes an array')
        x *= 10
        taken = take(x, stream=library.own_stream(gpu))
        y = cupy.from_dlpack(passed(library, (CUDA, gpu), taken, OWN, 5.0))
        want(y.data.ptr == x.data.ptr, 'and gives it back without a copy')
        y *= 2
        z = cupy.from_dlpack(made(library, (CUDA, gpu), ROWS, COLUMNS))
        total = z.sum(dtype=cupy.float64)
        want(z.shape == (ROWS, COLUMNS), "CuPy takes heddle's array")
        del z
        want(library.reuse(CUDA, gpu, N) == 0, 'heddle allocates and fills arrays of its size')
        if is_held:
            want(not stream.done, 'nothing of this has blocked')
        library.open_gate()
        want(float(y[0]) == 70 and float(y.sum(dtype=cupy.float64)) == 70.0 * N,
             f'x is right ({how})')
        want(float(total) == N * (N - 1) / 2, f'z is right, though it was deleted ({how})')
        del x, y
        library.finish_deleters()


print(f'CuPy {cupy.__version__}')
# Lives until the library has finished: the library's wrapper uses the stream until then.
streams = (cupy.cuda.Stream.null, cupy.cuda.Stream(non_blocking=True))
try_on_gpu(library, on_gpu, streams)
print('CuPy:', f'{heddle_dlpack.failures} FAILED' if heddle_dlpack.failures else 'all ok')
sys.exit(heddle_dlpack.failures != 0)
