"""numpy with a library made with heddle: python3 with_numpy.py libheddle_dlpack.so

Both directions, without a copy. Status 0: all holds; 1: something does not; 77: no numpy.
"""
import gc
import sys

try:
    import numpy as np
except ImportError as error:
    print(f'skipped: no numpy ({error})')
    sys.exit(77)
if not hasattr(np, 'from_dlpack'):
    print(f'skipped: numpy {np.__version__} has no from_dlpack()')
    sys.exit(77)

from heddle_dlpack import CPU, OWN, load, made, passed, take, want
import heddle_dlpack

library = load(sys.argv[1])
DEVICE = (CPU, 0)
has_versions = tuple(int(part) for part in np.__version__.split('.')[:2]) >= (2, 1)


def ones(*shape, dtype=np.float32):
    return np.ones(shape, dtype=dtype)


def is_refused(array):
    """heddle has said why on standard error, and called the deleter."""
    references = sys.getrefcount(array)
    refused = library.add(*take(array), OWN, 1.0) == 1
    return refused and sys.getrefcount(array) == references


# Out: heddle's memory as numpy's arrays.
x = np.from_dlpack(made(library, DEVICE, 3, 4))
want(x.shape == (3, 4) and x.strides == (16, 4) and x[2, 3] == 11, "numpy takes heddle's array")
want(x.flags.writeable == has_versions, 'which is writable, if numpy knows versions')
want(x.ctypes.data % 256 == 0, 'and aligned')
del x
want(not np.from_dlpack(made(library, DEVICE, 3, 4, 1)).flags.writeable or not has_versions,
     'a const array is read-only')
want(np.from_dlpack(made(library, DEVICE, 0, 4)).shape == (0, 4), 'an array without elements')
made(library, DEVICE, 3, 4).__dlpack__(max_version=(1, 0))
made(library, DEVICE, 3, 4).__dlpack__()
want(gc.collect() >= 0, 'capsules that are not taken end their tensors')

# In: numpy's memory as heddle's arrays.
y = ones(5, 2)
references = sys.getrefcount(y)
want(library.add(*take(y), OWN, 2.0) == 0, "heddle takes numpy's array")
want(library.finish_deleters() == 0, 'and ends it: the deleter acquires the lock of Python itself')
want(sys.getrefcount(y) == references and y[0, 0] == 3, 'which was no copy')
want(library.sum(*take(y), OWN) == 30, 'twice')
z = np.from_dlpack(passed(library, DEVICE, take(y), OWN, 1.0))
want(z.ctypes.data == y.ctypes.data and y[4, 1] == 4, 'there and back it is the same memory')
del y
want(z.sum() == 40, 'which lives as long as the last array of it')
w = np.from_dlpack(made(library, DEVICE, 2, 2))
v = np.from_dlpack(passed(library, DEVICE, take(w), OWN, 1.0)) if has_versions else w + 1
del w
gc.collect()
want(list(v.ravel()) == [1, 2, 3, 4], "heddle's memory comes back as its own")

print('refused, each with a line on standard error:', flush=True)
want(is_refused(ones(4, 4, dtype=np.float64)), 'another type')
want(is_refused(ones(4, 4)[:, 1:3]), 'not contiguous')
want(is_refused(ones(4, 4).T[1:]), 'transposed')
read_only = ones(4)
read_only.flags.writeable = False
if has_versions:
    want(is_refused(read_only), 'read-only')

# Pending when the program ends: it ends with 0 all the same.
late = ones(1000)
want(library.hold(*DEVICE, OWN) == 0, 'a gate holds heddle')
want(library.add(*take(late), OWN, 1.0) == 0, 'work is pending when the program ends')
del late
library.open_gate()
print('numpy:', f'{heddle_dlpack.failures} FAILED' if heddle_dlpack.failures else 'all ok')
sys.exit(heddle_dlpack.failures != 0)
