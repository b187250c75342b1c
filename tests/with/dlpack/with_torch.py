"""PyTorch with a library made with heddle: python3 with_torch.py libheddle_dlpack.so

heddle works on torch's tensors without a copy, in order with torch's current stream, and torch on
heddle's. Status 0: all holds; 1: something does not; 77: no torch. Without a GPU, on the CPU only.
"""
import sys

try:
    import torch
except ImportError as error:
    print(f'skipped: no torch ({error})')
    sys.exit(77)

from heddle_dlpack import CPU, CUDA, OWN, load, made, passed, take, try_on_gpu, want
import heddle_dlpack

library = load(sys.argv[1])
ROWS, COLUMNS = 1000, 512
N = ROWS * COLUMNS


def on_cpu():
    try:
        torch.from_dlpack(made(library, (CPU, 0), 1, 1))
    except Exception as error:
        heddle_dlpack.versioned = False
        print(f'note: this torch asks for DLPack 1 and takes an older one only ({error})')
    x = torch.ones(5, 2)
    want(library.add(*take(x), OWN, 2.0) == 0, 'heddle takes a CPU tensor of torch')
    want(library.sum(*take(x), OWN) == 30, 'and works on its memory')
    y = torch.from_dlpack(made(library, (CPU, 0), 3, 4))
    want(tuple(y.shape) == (3, 4) and y.sum().item() == 66, "torch takes heddle's CPU array")


def on_gpu(stream, is_held):
    """Enqueues all of it behind a gate, if is_held, and reads results when the gate is open."""
    how = f'stream {stream.cuda_stream:#x}, ' + ('behind a gate' if is_held else 'to warm up')
    gpu = torch.cuda.current_device()
    with torch.cuda.stream(stream):
        number = stream.cuda_stream or 1  # 1 is DLPack's number of the legacy default stream
        x = torch.zeros(ROWS, COLUMNS, device='cuda')
        torch.cuda.synchronize()
        if is_held:
            want(library.hold(CUDA, gpu, number) == 0, f'a gate holds torch ({how})')
        x.fill_(1)
        # heddle on torch's current stream.
        want(library.add(*take(x, stream=number), number, 2.0) == 0, 'heddle takes a tensor')
        x.mul_(10)
        # heddle on its own stream, between torch's work before and after.
        own = library.own_stream(gpu)
        taken = take(x, stream=own)
        y = torch.from_dlpack(passed(library, (CUDA, gpu), taken, OWN, 5.0))
        want(y.data_ptr() == x.data_ptr(), 'and gives it back without a copy')
        y.mul_(2)
        # heddle's memory, deleted before torch has read it.
        z = torch.from_dlpack(made(library, (CUDA, gpu), ROWS, COLUMNS))
        total = z.to(torch.float64).sum()
        want(tuple(z.shape) == (ROWS, COLUMNS), "torch takes heddle's array")
        del z
        want(library.reuse(CUDA, gpu, N) == 0, 'heddle allocates and fills arrays of its size')
        if is_held:
            want(not stream.query(), 'nothing of this has blocked')
        library.open_gate()
        want(y.view(-1)[0].item() == 70 and y.sum().item() == 70.0 * N, f'x is right ({how})')
        want(total.item() == N * (N - 1) / 2, f'z is right, though it was deleted ({how})')
        del x, y
        library.finish_deleters()


on_cpu()
if not torch.cuda.is_available() or library.heddle_gpus() == 0:
    print(f'skipped: GPUs (torch has {torch.cuda.device_count()}, heddle {library.heddle_gpus()})')
else:
    print(f'torch {torch.__version__} on {torch.cuda.get_device_name()}')
    try_on_gpu(library, on_gpu, (torch.cuda.default_stream(), torch.cuda.Stream()))
print('torch:', f'{heddle_dlpack.failures} FAILED' if heddle_dlpack.failures else 'all ok')
sys.exit(heddle_dlpack.failures != 0)
