"""Pretty-printers of gdb for heddle. They read memory only, and so work on core dumps too; the
library needs symbols, and no debug information.

To load them: source this file, in ~/.gdbinit for example. gdb finds those of a shared libheddle by
itself, if that is installed where gdb looks (show auto-load safe-path).

    print stream    stream 'copy' on cuda:0, priority -1, 3 of 20 operations pending
    print event     event on cuda:0, recorded on stream 'copy' after its operation 17
    print x         Array<float>[1000] on cuda:0
"""
import gdb
import gdb.printing

DEAD, FAILED = 1, 2  # flags of a stream (heddle/stream/detail/stream_state.hpp)
KINDS = ("device", "pinned", "pageable")  # MemoryKind


def integer(address, bytes_of_it, signed=False):
    memory = gdb.selected_inferior().read_memory(address, bytes_of_it)
    return int.from_bytes(memory.tobytes(), "little", signed=signed)


def offset(name):
    """The offset of a member, as the library has it (core/seam/debugger.hpp)."""
    return int(gdb.parse_and_eval(f"*(unsigned int*)&heddle_offset_{name}"))


def member(address, name, bytes_of_it=8, signed=False):
    return integer(address + offset(name), bytes_of_it, signed)


def text(address):
    """The characters of a std::string."""
    memory = gdb.selected_inferior()
    begin, size = integer(address, 8), integer(address + 8, 8)
    if has_symbol("heddle_strings_are_of_libcxx"):
        first = integer(address, 1)
        begin = integer(address + 16, 8) if first & 1 else address + 1
        size = size if first & 1 else first >> 1
    return memory.read_memory(begin, size).tobytes().decode("utf-8", "replace") if size else ""


def has_symbol(name):
    try:
        gdb.parse_and_eval(f"(long)&{name}")
        return True
    except gdb.error:
        return False


def device_at(address):
    return f"{'cuda' if integer(address, 1) else 'cpu'}:{integer(address + 4, 4, True)}"


def label_of_stream(state):
    name = text(state + offset("stream_name"))
    return f"stream '{name}'" if name else f"stream {member(state, 'stream_id')}"


def pending_of_stream(state):
    submitted = member(state, "stream_submissions")
    native = member(state, "stream_native")
    if integer(state + offset("stream_device"), 1) == 0:
        done = member(native, "queue_worked") if native else submitted
        return f"{submitted - done} of {submitted} operations pending"
    return (f"{submitted} operations submitted, "
            f"{member(state, 'stream_seen_complete')} known to be complete")


def text_of_stream(state):
    if member(state, "stream_id") == 0:
        return "no stream"
    flags = member(state, "stream_flags", 4)
    if flags & DEAD:
        return "a destroyed stream"
    return (f"{label_of_stream(state)} on {device_at(state + offset('stream_device'))}, "
            f"priority {member(state, 'stream_priority', 4, True)}, {pending_of_stream(state)}"
            f"{', failed' if flags & FAILED else ''}")


def text_of_event(state):
    if state == 0:
        return "an event that was moved from"
    on = f"event on {device_at(state + offset('event_device'))}"
    if member(state, "event_recorder"):
        return f"{on}, recorded in a capture or batch"
    if not member(state, "event_recorded", 1):
        return f"{on}, not recorded"
    stream = member(state, "event_stream")
    if stream == 0:
        return f"{on}, recorded"
    if member(stream, "stream_id") != member(state, "event_stream_id"):
        return f"{on}, recorded on a stream that has ended"
    return (f"{on}, recorded on {label_of_stream(stream)} after its operation "
            f"{member(state, 'event_submissions')}")


class Memory:
    """Elements of an array or a view."""

    def __init__(self, kind, element, data, size, block):
        self.kind, self.element, self.data, self.size = kind, element, data, size
        self.block = block

    def is_gone(self):
        if not member(self.block, "block_alive", 1):
            return True
        first = self.data - member(self.block, "block_data")
        return first < 0 or first + self.size * self.element.sizeof > member(self.block,
                                                                             "block_bytes")

    def place(self):
        if self.block == 0:
            return f" at {self.data:#x}" if self.data else ", no memory"
        if self.is_gone():
            return " of a destroyed array"
        kind = member(self.block, "block_kind", 1)
        if kind == 0:
            return f" on {device_at(self.block + offset('block_device'))}"
        return f" in {KINDS[kind]} memory"

    def is_on_host(self):
        if self.block == 0:
            return False  # only the driver knows the owner of the memory
        on_gpu = integer(self.block + offset("block_device"), 1) == 1
        return not self.is_gone() and not (on_gpu and member(self.block, "block_kind", 1) == 0)

    def text(self):
        return f"{self.kind}<{self.element}>[{self.size}]{self.place()}"

    def elements(self):
        if not self.is_on_host():
            return
        first = gdb.Value(self.data).cast(self.element.pointer())
        for i in range(self.size):
            yield f"[{i}]", (first + i).dereference()


class OfText:
    """Prints the text of a handle's state."""

    def __init__(self, state, text_of):
        self.state, self.text_of = state, text_of

    def to_string(self):
        try:
            return self.text_of(self.state)
        except gdb.error:
            return f"state at {self.state:#x} (libheddle has no symbols, or there is no process)"


class OfMemory:
    """Prints an array or a view, and the elements where gdb can read them."""

    def __init__(self, memory):
        self.memory = memory

    def to_string(self):
        return self.memory.text()

    def children(self):
        return self.memory.elements()

    @staticmethod
    def display_hint():
        return "array"


class OfDevice:
    """Prints a device, whose value says all."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        return f"{'cuda' if int(self.value['kind_']) else 'cpu'}:{int(self.value['index_'])}"


def stream(value):
    return OfText(int(value["state_"]), text_of_stream)


def event(value):
    return OfText(int(value["state_"]), text_of_event)


def array(value):
    block = int(value["block_"])
    data = member(block, "block_data") if block else 0
    element = value.type.strip_typedefs().template_argument(0)
    return OfMemory(Memory("Array", element, data, int(value["size_"]), block))


def view(value):
    block = int(value["owner_"]["word_"]) & 0xffffffffff80  # heddle/detail/owner_word.hpp
    element = value.type.strip_typedefs().template_argument(0)
    return OfMemory(Memory("View", element, int(value["data_"]), int(value["size_"]), block))


def printers():
    all_of_them = gdb.printing.RegexpCollectionPrettyPrinter("heddle")
    all_of_them.add_printer("Device", "^heddle::Device$", OfDevice)
    all_of_them.add_printer("Stream", "^heddle::Stream(Ref|Pool::Lease)?$", stream)
    all_of_them.add_printer("Event", "^heddle::Event$", event)
    all_of_them.add_printer("Array", "^heddle::Array<.*>$", array)
    all_of_them.add_printer("View", "^heddle::View<.*>$", view)
    return all_of_them


gdb.printing.register_pretty_printer(None, printers(), replace=True)
