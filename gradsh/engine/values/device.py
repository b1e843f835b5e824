"""Where a tensor is: the one `Device` there is, and how others are refused."""

import re

from gradsh.engine.ambient import current
from gradsh.text.fault import fail

CUDA_WAY = "gradsh computes on the CPU: leave the device out, or `set cuda ignore` to go on as if there were a GPU"

_INDEX = re.compile("0|[1-9][0-9]*")
DEVICES = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy", "vulkan",
    "mps", "meta", "hpu", "mtia",
)
"""The types of devices that PyTorch knows."""


def check_device(device: object) -> None:
    """Refuse a device other than the CPU, unless the session takes the CPU for every device (`set cuda ignore`)."""
    if device is None or device is CPU:
        return
    name = "cuda" if type(device) is int else type_of(device)
    if name != "cpu" and current().flags.get("cuda") != "ignore":
        raise no_accelerator() if type(device) is int else no_device(name)


def check_factory_device(device: object) -> None:
    """Refuse the device that a factory is given, or for None the default one, as check_device does."""
    check_device(current().default_devices[-1] if device is None else device)


def check_gpu(device: object) -> None:
    """Refuse what `cuda(device)` is given: another device than a GPU, as PyTorch does, and a GPU, unless the session ignores it."""
    if isinstance(device, (str, Device)) and type_of(device) in DEVICES and type_of(device) != "cuda":
        raise fail("value", "Invalid device, must be cuda device")
    check_device("cuda" if device is None else device)


def type_of(device: object) -> str:
    """Return the type of a device, or of its name."""
    return str(getattr(device, "type", device)).partition(":")[0]


def no_accelerator() -> Exception:
    """Return the error for a device that is given as a number, which PyTorch takes for one of an accelerator."""
    return fail("value", "Cannot access accelerator device when none is available.", device="cuda", way=CUDA_WAY)


def no_device(name: str) -> Exception:
    """Return the error for a device that is not there, with the way out."""
    if name == "cuda":
        return fail("value", "Torch not compiled with CUDA enabled", AssertionError, device=name, way=CUDA_WAY)
    if name == "xpu":
        return fail("value", "Torch not compiled with XPU enabled", AssertionError, device=name, way=CUDA_WAY)
    if name in DEVICES and name not in {"meta", "hpu", "mtia"}:
        return fail("value", f"PyTorch is not linked with support for {name} devices", device=name, way=CUDA_WAY)
    if name in DEVICES:
        way = "leave the device out, or run the program on PyTorch: `gradsh trace FILE`"
        return fail("value", f"gradsh computes on the CPU, not on the device {name}", device=name, way=way)
    message = f"Expected one of {', '.join(DEVICES)}, privateuseone device type at start of device string: {name}"
    return fail("value", message, device=name)


class Device:
    """A device as a value. Tensors are on `cpu`, the one there is; an operation that is given another refuses it."""

    __slots__ = ("index", "type")
    __script_attributes__ = frozenset({"type", "index"})

    index: int | None
    type: str

    def __new__(cls, type: object = "cpu", index: int | None = None) -> "Device":
        """Return the device of that name; `set cuda ignore` takes the CPU for every device."""
        if isinstance(type, Device):
            return type
        if not isinstance(type, str | int):
            message = f"device(): argument 'type' (position 1) must be str, not {type.__class__.__name__}"
            raise fail("type", message, TypeError)
        anywhere = current().flags.get("cuda") == "ignore"
        if isinstance(type, int) and not anywhere:
            raise no_accelerator()
        if index is not None and not isinstance(index, int):
            raise fail("type", f"device(): argument 'index' (position 2) must be int, not {index.__class__.__name__}", TypeError)
        name, number = ("cpu", None) if isinstance(type, int) else _parts(type)
        if number is not None and index is not None:
            raise fail("value", f"type (string) must not include an index because index was passed explicitly: {type}")
        if index is not None and index < 0:
            raise fail("value", "Device index must not be negative")
        index = number if index is None else index
        return CPU if anywhere or (name, index) == ("cpu", None) else made(name, index)

    def __repr__(self) -> str:
        return f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __enter__(self) -> "Device":
        current().default_devices.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        current().default_devices.pop()


def _parts(text: str) -> tuple[str, int | None]:
    """Return the type of a device and its index, from its name."""
    name, colon, number = text.partition(":")
    if name not in DEVICES:
        raise no_device(name)
    if colon and not _INDEX.fullmatch(number):
        raise fail("value", f"Invalid device string: '{text}'")
    return name, int(number) if colon else None


def made(type: str, index: int | None = None) -> Device:
    """Return a new device."""
    device = object.__new__(Device)
    device.type, device.index = type, index
    return device


CPU = made("cpu")
