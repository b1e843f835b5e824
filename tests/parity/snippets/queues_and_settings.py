import configparser
import io
import queue
import signal
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, fields

import torch

q = queue.Queue(maxsize=2)
q.put(torch.ones(2))
q.put(2)
try:
    q.put_nowait(3)
except queue.Full as error:
    print("full", type(error).__name__)
print(q.get().sum(), q.get_nowait(), q.empty(), q.qsize())
try:
    q.get(timeout=0.01)
except queue.Empty as error:
    print(repr(error))
first = queue.PriorityQueue()
for k in (3, 1, 2):
    first.put((k, str(k)))
print(first.get(), first.get(), first.full())
lock = threading.Lock()
with lock:
    print(lock.locked())
try:
    lock.release()
except RuntimeError as error:
    print(error)
w = torch.ones(2, requires_grad=True)
with ThreadPoolExecutor(max_workers=2) as pool:
    print(list(pool.map(pow, [1, 2], [3, 4])))
    calls = {pool.submit(lambda k: 1 / k, k): k for k in (1, 0)}
    for call in sorted(as_completed(calls), key=calls.get):
        try:
            print(calls[call], call.result())
        except ZeroDivisionError as error:
            print(calls[call], error, type(call.exception()).__name__)
    pool.submit(lambda: (w * 3).sum().backward()).result()
print(w.grad, signal.signal(signal.SIGTERM, lambda number, frame: None) is None, int(signal.SIGINT))

TEXT = """
[model]
hidden = 8
dropout = 0.25
bias = no
name = net-%(hidden)s
[train]
lr = 1e-3
"""


@dataclass
class Config:
    hidden: int = 1
    dropout: float = 0.0
    name: str = ""


settings = configparser.ConfigParser()
settings.read_string(TEXT)
section = settings["model"]
print(settings.sections(), section["hidden"], section.getboolean("bias"), settings.getfloat("train", "lr"))
print(section.get("missing", "other"), "train" in settings, "lr" in settings["train"], dict(section), settings.get("model", "no", fallback=3))
print(Config(**{one.name: one.type(section[one.name]) for one in fields(Config)}), [one.type.__name__ for one in fields(Config)])
try:
    settings.get("nowhere", "x")
except configparser.NoSectionError as error:
    print(error)
settings["added"] = {"k": "v"}
written = io.StringIO()
settings.write(written)
print(written.getvalue())
again = configparser.ConfigParser()
again.read_string(written.getvalue())
print(list(again), again.items("added"), [len(again[name]) for name in again])
