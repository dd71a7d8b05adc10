"""The pickle of a PyTorch archive, followed without Python's unpickler.

A pickle is a program for a machine with a stack. `pickletools` takes it apart; the thirty instructions that a state
dict is made of are followed here, on plain values, within bounds. Nothing is imported and nothing is called: the names
it may refer to stand for a shape, an element type or an ordered mapping, and any other name is refused.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# A tensor takes about 35: enough for a hundred thousand, and seconds for a pickle made to waste time.
MAX_INSTRUCTIONS = 4_000_000
MAX_DIMENSIONS = 16
_MAX_KEY_LENGTH = 4096
_DTYPES = {
    "FloatStorage": "F32", "HalfStorage": "F16", "BFloat16Storage": "BF16", "DoubleStorage": "F64",
    "LongStorage": "I64", "IntStorage": "I32", "ShortStorage": "I16", "CharStorage": "I8", "ByteStorage": "U8",
    "BoolStorage": "BOOL", "UntypedStorage": "U8", "Float8_e4m3fnStorage": "F8_E4M3",
    "Float8_e5m2Storage": "F8_E5M2",
}  # fmt: skip
# Types without a storage class of their own are named by their dtype (`_rebuild_tensor_v3`).
_NEWER_DTYPES = {
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "float8_e8m0fnu": "F8_E8M0", "float4_e2m1fn_x2": "F4",
    "uint16": "U16", "uint32": "U32", "uint64": "U64",
}  # fmt: skip
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_VALUES = frozenset(
    {
        "BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8",
        "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "INT", "LONG", "FLOAT", "STRING", "UNICODE",
    }
)  # fmt: skip
_EMPTY: dict[str, Callable[[], Any]] = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}
_IGNORED = frozenset({"PROTO", "FRAME"})
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class ForbiddenNameError(Exception):
    """The pickle refers to something that a state dict does not need."""


@dataclass(frozen=True, slots=True)
class PickledTensor:
    """One tensor as the pickle describes it."""

    dtype: str
    """Element type in safetensors' names."""
    shape: tuple[int, ...]
    """Shape."""


@dataclass(frozen=True, slots=True)
class _Name:
    """A class or function of PyTorch's that was referred to."""

    name: str


class _Storage(str):
    """The element type of a storage that was referred to."""

    __slots__ = ()


class _Mark:
    """The place that MARK notes on the stack."""


_MARK = _Mark()


def follow(content: bytes) -> Any:
    """Return what a pickle builds, tensors by type and shape.

    Raises:
        ForbiddenNameError: It refers to something else than tensors in mappings and lists.
        ValueError: It is damaged, or longer than any state dict's.
    """
    machine = _Machine()
    for count, (opcode, argument, _) in enumerate(pickletools.genops(content)):
        if count >= MAX_INSTRUCTIONS:
            raise ValueError(f"more than {MAX_INSTRUCTIONS} instructions")
        if opcode.name == "STOP":
            return machine.pop()
        machine.step(opcode.name, argument)
    raise ValueError("it ends in the middle")


class _Machine:
    """The stack and the memo of one pickle."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def pop(self) -> Any:
        """Take the uppermost value.

        Raises:
            ValueError: There is none.
        """
        if not self._stack:
            raise ValueError("it takes a value that is not there")
        return self._stack.pop()

    def step(self, name: str, argument: Any) -> None:
        """Follow one instruction.

        Raises:
            ForbiddenNameError: It refers to something that is not known.
            ValueError: It makes no sense here.
        """
        if name in _VALUES:
            self._stack.append(argument)
        elif name in _CONSTANTS:
            self._stack.append(_CONSTANTS[name])
        elif name in _EMPTY:
            self._stack.append(_EMPTY[name]())
        elif name in _TUPLES:
            self._stack.append(tuple([self.pop() for _ in range(_TUPLES[name])][::-1]))
        elif name == "MARK":
            self._stack.append(_MARK)
        elif name not in _IGNORED:
            follower = _FOLLOWERS.get(name)
            if follower is None:
                raise ValueError(f"a state dict needs no {name}")
            follower(self, argument)

    def put(self, argument: Any) -> None:
        """Note the uppermost value under a number, or under the next one."""
        value = self.pop()
        self._stack.append(value)
        self._memo[len(self._memo) if argument is None else int(argument)] = value

    def get(self, argument: Any) -> None:
        """Put a noted value on the stack again."""
        if int(argument) not in self._memo:
            raise ValueError("it takes a value that was never noted")
        self._stack.append(self._memo[int(argument)])

    def marked(self) -> list[Any]:
        """Take what was put on the stack since the last MARK."""
        for index in range(len(self._stack) - 1, -1, -1):
            if self._stack[index] is _MARK:
                items = self._stack[index + 1 :]
                del self._stack[index:]
                return items
        raise ValueError("it closes what it never opened")

    def make(self, kind: Callable[[list[Any]], Any]) -> None:
        """Make a value of what was marked."""
        self._stack.append(kind(self.marked()))

    def extend(self, items: list[Any]) -> None:
        """Append items to the list below."""
        target = self.pop()
        if not isinstance(target, list):
            raise ValueError("it appends to something that is no list")
        target.extend(items)
        self._stack.append(target)

    def set(self, items: list[Any]) -> None:
        """Put keys and values into the mapping below."""
        target = self.pop()
        if not isinstance(target, dict) or len(items) % 2:
            raise ValueError("it sets items of something that is no mapping")
        target.update(_pairs(items))
        self._stack.append(target)

    def refer(self, module: str, name: str) -> None:
        """Put a name of PyTorch's on the stack."""
        self._stack.append(_named(module, name))

    def refer_from_stack(self, argument: Any) -> None:
        """Put a name whose parts are on the stack on it."""
        del argument
        name, module = self.pop(), self.pop()
        self.refer(str(module), str(name))

    def storage(self, argument: Any) -> None:
        """Put the element type of a storage on the stack; its bytes are not read."""
        del argument
        parts = self.pop()
        if isinstance(parts, tuple) and len(parts) >= 2 and parts[0] == "storage" and isinstance(parts[1], _Storage):
            self._stack.append(parts[1])
            return
        raise ForbiddenNameError("refers to something that is no tensor storage")

    def call(self, argument: Any) -> None:
        """Put on the stack what a call of a known name stands for."""
        del argument
        arguments, called = self.pop(), self.pop()
        if not isinstance(called, _Name) or not isinstance(arguments, tuple):
            raise ValueError("it calls something that is no function")
        self._stack.append(_CALLS[called.name](*arguments))

    def build(self, argument: Any) -> None:
        """Leave an object as it is: what torch notes on a state dict (`_metadata`) is not needed."""
        del argument
        self.pop()


def _pairs(items: list[Any]) -> list[tuple[Any, Any]]:
    """Return keys and values; a key is short, so that a pickle cannot keep Python busy with comparing them."""
    for key in items[::2]:
        text = isinstance(key, (str, bytes)) and len(key) <= _MAX_KEY_LENGTH
        number = key is None or isinstance(key, float) or (isinstance(key, int) and abs(key) < 2**63)
        if not text and not number:
            raise ValueError("a key that is no name and no number")
    return list(zip(items[::2], items[1::2], strict=True))


def _mapping(items: list[Any]) -> dict[Any, Any]:
    if len(items) % 2:
        raise ValueError("a key without a value")
    return dict(_pairs(items))


def _named(module: str, name: str) -> Any:
    if module == "torch" and name in _NEWER_DTYPES:
        return _Storage(_NEWER_DTYPES[name])
    if module in ("torch", "torch.storage") and name in _DTYPES:
        return _Storage(_DTYPES[name])
    if (module, name) == ("collections", "OrderedDict") or (module == "torch._utils" and name in _CALLS):
        return _Name(name)
    raise ForbiddenNameError(f"wants to call {module}.{name} while it is read; nothing was run")


def _rebuild(storage: Any = None, offset: Any = None, size: Any = None, *rest: Any) -> PickledTensor:
    del offset, rest
    proper = isinstance(size, tuple) and len(size) <= MAX_DIMENSIONS
    if not proper or not all(isinstance(part, int) and 0 <= part < 2**63 for part in size):
        raise ValueError("a tensor without a proper shape")
    if not isinstance(storage, _Storage):
        raise ValueError("a tensor without a storage")
    return PickledTensor(str(storage), size)


def _rebuild_typed(storage: Any = None, offset: Any = None, size: Any = None, *rest: Any) -> PickledTensor:
    dtype = rest[3] if len(rest) > 3 else None
    if not isinstance(storage, _Storage):
        raise ValueError("a tensor without a storage")
    return _rebuild(dtype, offset, size)


def _rebuild_parameter(data: Any = None, *rest: Any) -> Any:
    del rest
    return data


def _ordered(*pairs: Any) -> dict[Any, Any]:
    if pairs:  # torch makes them empty and sets the items afterwards
        raise ValueError("a mapping made of something")
    return {}


_CALLS: dict[str, Callable[..., Any]] = {
    "OrderedDict": _ordered,
    "_rebuild_tensor": _rebuild,
    "_rebuild_tensor_v2": _rebuild,
    "_rebuild_tensor_v3": _rebuild_typed,
    "_rebuild_parameter": _rebuild_parameter,
}
_FOLLOWERS: dict[str, Callable[[_Machine, Any], None]] = {
    "BINPUT": _Machine.put, "LONG_BINPUT": _Machine.put, "PUT": _Machine.put, "MEMOIZE": _Machine.put,
    "BINGET": _Machine.get, "LONG_BINGET": _Machine.get, "GET": _Machine.get,
    "TUPLE": lambda machine, _: machine.make(tuple),
    "LIST": lambda machine, _: machine.make(list),
    "DICT": lambda machine, _: machine.make(_mapping),
    "APPEND": lambda machine, _: machine.extend([machine.pop()]),
    "APPENDS": lambda machine, _: machine.extend(machine.marked()),
    "SETITEM": lambda machine, _: machine.set([machine.pop(), machine.pop()][::-1]),
    "SETITEMS": lambda machine, _: machine.set(machine.marked()),
    "GLOBAL": lambda machine, argument: machine.refer(*argument.split(" ", 1)),
    "STACK_GLOBAL": _Machine.refer_from_stack,
    "BINPERSID": _Machine.storage,
    "REDUCE": _Machine.call,
    "NEWOBJ": _Machine.call,
    "BUILD": _Machine.build,
    "POP": lambda machine, _: machine.build(None),
}  # fmt: skip
