"""The library made with heddle (library.cpp), for the programs of this folder.

take() makes of another library's array what the library takes: a tensor of DLPack. Made and Passed
are what other libraries take: objects with __dlpack__(). A binding made with nanobind or pybind11
has the same parts.
"""
import atexit
import ctypes
import os

CPU, CUDA, OWN, HOST = 1, 2, 0, 0
NAMES = {1: (b'dltensor_versioned', b'used_dltensor_versioned'), 0: (b'dltensor', b'used_dltensor')}

pointer, text, integer, object_ = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int,
                                   ctypes.py_object)
stream = ctypes.c_ssize_t  # intptr_t


def declare(library, name, result, *arguments):
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments


def load(path):
    library = ctypes.CDLL(os.path.abspath(path))  # its calls release Python's lock
    declare(library, 'heddle_gpus', integer)
    declare(library, 'own_stream', stream, integer)
    declare(library, 'hold', integer, integer, integer, stream)
    declare(library, 'open_gate', None)
    declare(library, 'make', pointer, integer, integer, ctypes.c_long, ctypes.c_long, integer,
            stream, integer)
    declare(library, 'add', integer, pointer, integer, stream, ctypes.c_float)
    declare(library, 'pass_through', pointer, pointer, integer, stream, ctypes.c_float, stream,
            integer)
    declare(library, 'sum', ctypes.c_double, pointer, integer, stream)
    declare(library, 'reuse', integer, integer, integer, ctypes.c_long)
    declare(library, 'end', None, pointer, integer)
    declare(library, 'finish_deleters', integer)
    declare(library, 'finish', None)
    atexit.register(library.finish)  # calls deleters before Python ends
    return library


api = ctypes.pythonapi
declare(api, 'PyCapsule_New', object_, pointer, text, pointer)
declare(api, 'PyCapsule_IsValid', integer, object_, text)
declare(api, 'PyCapsule_GetPointer', pointer, object_, text)
declare(api, 'PyCapsule_SetName', integer, object_, text)
# The same by address: a destructor must not make a new reference to its capsule.
is_valid_at = ctypes.PYFUNCTYPE(integer, pointer, text)(('PyCapsule_IsValid', api))
pointer_at = ctypes.PYFUNCTYPE(pointer, pointer, text)(('PyCapsule_GetPointer', api))


def take(array, **options):
    """Returns (tensor, is_versioned) of the array, which belongs to the caller from now on."""
    try:
        capsule = array.__dlpack__(max_version=(1, 0), **options)
    except TypeError:  # a library of before 2024
        capsule = array.__dlpack__(**options)
    for is_versioned, (name, used) in NAMES.items():
        if api.PyCapsule_IsValid(capsule, name):
            tensor = api.PyCapsule_GetPointer(capsule, name)
            api.PyCapsule_SetName(capsule, used)
            return tensor, is_versioned
    raise TypeError('not a capsule of DLPack')


class Exporter:
    """What other libraries' from_dlpack() takes. `make` is called with the consumer's stream and
    whether the tensor is to be versioned."""

    def __init__(self, library, device, make):
        self.library, self.device, self.make = library, device, make

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if copy or dl_device not in (None, self.device):
            raise BufferError('heddle makes no copies for DLPack')
        is_versioned = int(versioned and max_version is not None and max_version[0] >= 1)
        if self.device[0] == CPU:
            consumer = HOST
        else:
            consumer = 1 if stream is None else stream
        tensor = self.make(consumer, is_versioned)
        if not tensor:
            raise BufferError('heddle made no tensor: see standard error')
        return api.PyCapsule_New(tensor, NAMES[is_versioned][0], self.destructor())

    def destructor(self):
        """Returns the address of a function that ends the tensor of an untaken capsule."""
        global destroy
        library = self.library

        def end(capsule):
            for is_versioned, (name, _) in NAMES.items():
                if is_valid_at(capsule, name):
                    library.end(pointer_at(capsule, name), is_versioned)

        if destroy is None:
            destroy = ctypes.PYFUNCTYPE(None, pointer)(end)
        return ctypes.cast(destroy, pointer)


versioned = True  # False: makes unversioned tensors only
destroy = None  # kept: capsules hold its address


def made(library, device, rows, columns, read_only=0):
    """A new array of heddle's: 0, 1, 2, ..."""
    return Exporter(library, device, lambda consumer, is_versioned: library.make(
        *device, rows, columns, read_only, consumer, is_versioned))


def passed(library, device, taken, number, amount):
    """The memory of a tensor that heddle has taken, plus an amount. Valid once."""
    return Exporter(library, device, lambda consumer, is_versioned: library.pass_through(
        *taken, number, amount, consumer, is_versioned))


failures = 0


def want(holds, what):
    global failures
    if not holds:
        failures += 1
    print('ok:' if holds else 'FAILED:', what, flush=True)


def try_on_gpu(library, program, streams):
    """Calls program(stream, is_held) for each stream, first without and then behind the gate."""
    for stream in streams:
        for is_held in (False, True):
            try:
                program(stream, is_held)
            except Exception as error:
                want(False, f'{type(error).__name__}: {error}')
            finally:
                library.open_gate()
