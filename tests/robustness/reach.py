"""Everything that a script reaches: a walk over guarded reads, items and results of harmless calls, to its end."""

from collections import deque
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    TracebackType,
)
from typing import Any

from gradsh.api.torch import NAMESPACES
from gradsh.contracts.events import Failure
from gradsh.engine.ambient import Ambient
from gradsh.engine.values.storage import VersionCounter
from gradsh.runtime.allowlist import names_in
from gradsh.session.session import Session

ESCAPES = Path(__file__).with_name("escapes.txt").read_text(encoding="utf-8")
PREPARED = ESCAPES.split("== prepared\n")[1].split("\n== ")[0] + """
class Fn2(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x); ctx.own = 3; kept.append(ctx)
        return x * 2
    @staticmethod
    def backward(ctx, g): return g * 2
kept = []
fn = Fn2.apply(x)
class MyOptimizer(torch.optim.Adam): pass
class MyTensor(torch.Tensor): pass
class MyLinear(nn.Linear): pass
class MyData(torch.utils.data.Dataset):
    def __getitem__(self, i): return i
    def __len__(self): return 4
mine = [MyOptimizer([x]), MyTensor([1.]), MyLinear(2, 2), MyData()]
modules = [nn.LSTM(2, 2), nn.BatchNorm1d(2), nn.Sequential(nn.Linear(2, 2)), nn.ModuleDict({"a": nn.ReLU()})]
modules += [nn.ParameterList([x.detach()])]
named = nn.ParameterDict({"a": x.detach()})
parametrized = nn.utils.parametrize.register_parametrization(nn.Linear(2, 2), "weight", nn.Identity())
weighted = nn.utils.weight_norm(nn.Linear(2, 2))
scheduler = torch.optim.lr_scheduler.StepLR(o, 1)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(o)
generator = torch.Generator()
normal = torch.distributions.Normal(0., 1.)
categorical = torch.distributions.Categorical(torch.ones(3))
module_hook = m.register_forward_hook(lambda *a: None)
ordered = torch.sort(x)
saving = torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)
short = (x * x).grad_fn
edge = torch.autograd.graph.get_gradient_edge(y)
limits = [torch.finfo(torch.float32), torch.iinfo(torch.int64), torch.device("cpu")]
long = range(10 ** 9)
loaded = m.load_state_dict(m.state_dict())
"""
INERT = (GetSetDescriptorType, MemberDescriptorType)
"""What Python's own classes give for an attribute: the guard offers nothing on it, and Python checks what it is bound to."""
DANGEROUS = (ModuleType, FrameType, CodeType, TracebackType, MappingProxyType, Ambient, VersionCounter)
SPECIAL = tuple(f"__{name}__" for name in sorted(names_in("""
    globals code closure dict class mro bases base subclasses self func wrapped builtins new getattribute
    getattr setattr delattr reduce reduce_ex getstate setstate getnewargs getnewargs_ex copy deepcopy module
    defaults kwdefaults get set delete objclass loader spec file path traceback array array_interface
    array_struct array_ufunc array_function array_wrap array_priority array_finalize dlpack dlpack_device
    buffer fspath weakref slots annotations subclasshook init_subclass set_name class_getitem mro_entries
    instancecheck subclasscheck prepare dir sizeof bytes complex length_hint missing format abstractmethods
    isabstractmethod signature text_signature type_params orig_bases orig_class match_args torch_function
    script_attributes script_base node await aiter anext del index call iter next len
""")))
"""Names that Python, numpy or the engine give a meaning of their own."""
HIDDEN = names_in("""
    tb_frame tb_next gi_frame gi_code gi_yieldfrom f_globals f_locals f_back f_code cr_frame ag_frame co_code
    co_consts obj fget fset fdel func_globals im_func ctypes data base tofile dump setflags newbyteorder
    _node _kept _stream stream _entry _owner _table _load _kind _of _check _guard _text _settings _function
    where edges entries extra raw own outputs array own_counter grad_fn_ref meta descriptor needs_grad counter versions record records
    hooks places _context __dict__
""")
HARMLESS_CALLS = names_in("""
    items values keys state_dict parameters modules children named_parameters copy __iter__ __next__ saved name get_state
""")


def prepared() -> Session:
    """Return a session in which a script has made one of everything."""
    session = Session()
    events: list[Any] = []
    session.run(PREPARED, events.append)
    assert not [event.problem.message for event in events if isinstance(event, Failure)]
    return session


class Walk:
    """A walk that visits each object once (of Python's own function types, and of tensors' methods, one of a kind)."""

    def __init__(self, session: Session) -> None:
        self.guard = session.machine.guard
        self.machine = session.machine
        self.seen: dict[Any, str] = {}
        self.objects: list[tuple[str, Any]] = []
        self.queue: deque[tuple[Any, str]] = deque()

    def run(self) -> list[tuple[str, Any]]:
        """Return (path, object) for everything there is to reach."""
        for table in (self.machine.program, self.machine.builtins):
            for name, value in list(table.items()):
                if name[0] != "." and name[:2] != "__":
                    self.push(value, name)
        imports = self.machine.offer.imports
        for name in dict.fromkeys((*imports.known(), *NAMESPACES)):
            self.push(imports.library(name) or NAMESPACES[name], name)
        while self.queue:
            value, path = self.queue.popleft()
            for name in self.names(value):
                found = self.ask(lambda value=value, name=name: self.guard.read(value, name))
                self.push(found, f"{path}.{name}")
                if name in HARMLESS_CALLS and callable(found) and not isinstance(value, type):
                    self.push(self.ask(found), f"{path}.{name}()")
            self.push_items(value, path)
        return self.objects

    @staticmethod
    def ask(question: Any) -> Any:
        """Return the answer, None for a refusal."""
        try:
            return question()
        except Exception:  # noqa: BLE001  # a property may refuse; what matters is what it gives
            return None

    def names(self, value: Any) -> set[str]:
        """Return every name that a walk asks a value for: what it has, whether offered or not, and what others have."""
        kind = value if isinstance(value, type) else type(value)
        if kind in {FunctionType, MethodType, BuiltinFunctionType} and (kind, None) in self.seen:
            return set(getattr(value, "__dict__", ()))  # the list of one of a kind is that of all
        self.seen[kind, None] = ""
        raw = {name for base in kind.__mro__ for name in base.__dict__ if isinstance(name, str)}
        own = getattr(value, "__dict__", None)
        listed = value.names() if isinstance(value, self.guard.namespaces) else ()
        return {*raw, *(own if isinstance(own, dict) else ()), *listed, *SPECIAL, *HIDDEN}

    def push(self, value: Any, path: str) -> None:
        """Visit a value later, if it is a new one."""
        if isinstance(value, (int, float, complex, str, bytes, type(None))) or path.count(".") + path.count("[") > 9:
            return
        key = self.key(value)
        if key not in self.seen:
            self.seen[key] = path
            self.objects.append((path, value))
            self.queue.append((value, path))

    def key(self, value: Any) -> Any:
        """Tell objects apart: classes, namespaces and functions by themselves, others by what they are and hold."""
        kind = type(value)
        if isinstance(value, (type, FunctionType, *self.guard.namespaces)):
            return id(value)
        if isinstance(value, MethodType):
            return kind, value.__func__
        if isinstance(value, BuiltinFunctionType):
            return kind, value.__qualname__
        if isinstance(value, (list, tuple, set, frozenset)):
            return kind, *map(type, list(value)[:50])
        if isinstance(value, dict):
            return kind, *map(type, list(value.values())[:50])
        own = getattr(value, "__dict__", None)
        return kind, *(own if isinstance(own, dict) else ())

    def push_items(self, value: Any, path: str) -> None:
        if isinstance(value, (list, tuple, set, frozenset)):
            for place, one in enumerate(list(value)[:50]):
                self.push(one, f"{path}[{place}]")
        elif isinstance(value, dict):
            for key, one in list(value.items())[:100]:
                self.push(key, f"{path}.key")
                self.push(one, f"{path}[{str(key)[:20]}]")
