"""A seccomp filter: the system calls that this process may still make, as a program that the kernel runs before each.

Calls that are not listed answer "not implemented", as on an older kernel, so that the C library falls back on one that is.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Sequence

from gradsh.process.libc import checked, libc

ALLOWED = """
read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, pwrite64 18 68, preadv 295 69, pwritev 296 70, preadv2 327 286,
pwritev2 328 287, lseek 8 62, open 2 -, openat 257 56, creat 85 -, close 3 57, close_range 436 436, stat 4 -, lstat 6 -, fstat 5 80,
newfstatat 262 79, statx 332 291, access 21 -, faccessat 269 48, faccessat2 439 439, readlink 89 -, readlinkat 267 78,
getdents 78 -, getdents64 217 61, getcwd 79 17, statfs 137 43, fstatfs 138 44, umask 95 166, dup 32 23, dup2 33 -, dup3 292 24,
pipe 22 -, pipe2 293 59, eventfd2 290 19, poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72, epoll_create1 291 20, epoll_ctl 233 21,
epoll_wait 232 -, epoll_pwait 281 22, epoll_pwait2 441 441, flock 73 32, fsync 74 82, fdatasync 75 83, ftruncate 77 46,
truncate 76 45, fallocate 285 47, fadvise64 221 223, copy_file_range 326 285, rename 82 -, renameat 264 38, renameat2 316 276,
unlink 87 -, unlinkat 263 35, mkdir 83 -, mkdirat 258 34, rmdir 84 -, mmap 9 222, munmap 11 215, mprotect 10 226, mremap 25 216,
madvise 28 233, mincore 27 232, msync 26 227, mlock 149 228, munlock 150 229, mlock2 325 284, brk 12 214, membarrier 324 283,
mbind 237 235, get_mempolicy 239 236, set_mempolicy 238 237, rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139,
rt_sigpending 127 136, rt_sigsuspend 130 133, rt_sigtimedwait 128 137, sigaltstack 131 132, pause 34 -, alarm 37 -, setitimer 38 103,
getitimer 36 102, nanosleep 35 101, clock_nanosleep 230 115, clock_gettime 228 113, clock_getres 229 114, gettimeofday 96 169,
time 201 -, times 100 153, futex 202 98, futex_waitv 449 449, set_robust_list 273 99, get_robust_list 274 100,
set_tid_address 218 96, rseq 334 293, sched_yield 24 124, sched_getaffinity 204 123, sched_getparam 143 121,
sched_getscheduler 145 120, sched_get_priority_max 146 125, sched_get_priority_min 147 126, getcpu 309 168, restart_syscall 219 128,
exit 60 93, exit_group 231 94, getpid 39 172, gettid 186 178, getppid 110 173, getpgrp 111 -, getpgid 121 155, getsid 124 156,
getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177, getresuid 118 148, getresgid 120 150, getgroups 115 158,
getrlimit 97 163, setrlimit 160 164, getrusage 98 165, sysinfo 99 179, uname 63 160, getrandom 318 278, arch_prctl 158 -, capget 125 90
"""
"""Calls that are allowed whatever their arguments: name, number on x86_64, number on aarch64 (-: it has none)."""
AT_A_PROMPT = "socketpair 53 199, sendto 44 206, recvfrom 45 207"
"""Calls by which the editor's loop of events wakes itself: two connected streams within the process."""
CONDITIONAL = "clone 56 220, kill 62 129, tgkill 234 131, prlimit64 302 261, prctl 157 167, ioctl 16 29, fcntl 72 25"

CLONE_THREAD = 0x10000
TERMINAL = (0x5401, 0x5402, 0x5403, 0x5404, 0x802C542A, 0x402C542B, 0x402C542C, 0x402C542D, 0x5413, 0x540F)
"""TCGETS to TCSETSF, TCGETS2 to TCSETSF2, TIOCGWINSZ, TIOCGPGRP. Not TIOCSTI, which types into the terminal."""
DESCRIPTORS = (0x5450, 0x5451, 0x5421, 0x541B)
"""FIOCLEX, FIONCLEX, FIONBIO, FIONREAD."""
FILE_CONTROLS = (0, 1, 2, 3, 4, 5, 6, 7, 1030, 36, 37, 38)
"""F_DUPFD, F_GETFD, …, F_SETLKW, F_DUPFD_CLOEXEC, F_OFD_GETLK, …. Not F_SETOWN, which has the kernel send signals."""
STREAMS = (1, 0x80001, 0x801, 0x80801)
"""SOCK_STREAM, with SOCK_CLOEXEC and SOCK_NONBLOCK or without. Not SOCK_DGRAM, which sends to whomever it likes."""
PROCESS_CONTROLS = (15, 16, 0x53564D41)
"""PR_SET_NAME, PR_GET_NAME, PR_SET_VMA."""

ARCHITECTURES = {"x86_64": (0xC000003E, 1), "aarch64": (0xC00000B7, 2)}
"""Machine -> (the kernel's number of it, the column of its numbers above)."""
PR_GET_SECCOMP, PR_SET_SECCOMP, MODE_FILTER = 21, 22, 2
LOAD, JUMP_EQUAL, JUMP_BITS, RETURN = 0x20, 0x15, 0x45, 0x06
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
"""Offsets in what the program looks at; of a 64-bit argument the lower half comes first."""
ALLOW, ANSWER = 0x7FFF0000, 0x00050000

Instruction = tuple[int, int, int, int]


def available() -> bool:
    """Whether the kernel takes such filters, and this machine's calls are known here."""
    system = os.uname()
    if system.sysname != "Linux" or system.machine not in ARCHITECTURES or struct.calcsize("P") != 8:
        return False
    return int(libc().prctl(PR_GET_SECCOMP, 0, 0, 0, 0)) >= 0


def restrict(*, at_a_prompt: bool = False) -> None:
    """Allow this thread, and those it starts later, the listed calls only. Needs no-new-privileges. Raises OSError."""
    code = program(os.uname().machine, os.getpid(), at_a_prompt=at_a_prompt)
    packed = struct.pack("HBBI" * len(code), *(number for one in code for number in one))  # 8 bytes each, without gaps
    text = ctypes.create_string_buffer(packed, len(packed))
    told = ctypes.create_string_buffer(struct.pack("HP", len(code), ctypes.addressof(text)))
    checked(libc().prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(told), 0, 0), "seccomp")


def program(machine: str, process: int, *, at_a_prompt: bool = False) -> list[Instruction]:
    """Return the filter for a machine: the architecture, calls that depend on an argument, then those that do not."""
    architecture, column = ARCHITECTURES[machine]
    conditional = _numbers(CONDITIONAL, column)
    free = _numbers(ALLOWED, column)
    if at_a_prompt:
        free |= _numbers(AT_A_PROMPT, column)
        conditional["socketpair"] = free.pop("socketpair")
    conditions = {
        "kill": _argument_in(0, (process,)), "tgkill": _argument_in(0, (process,)), "prlimit64": _argument_in(0, (0, process)),
        "prctl": _argument_in(0, PROCESS_CONTROLS), "ioctl": _argument_in(1, TERMINAL + DESCRIPTORS),
        "fcntl": _argument_in(1, FILE_CONTROLS), "clone": _thread_only(), "socketpair": _argument_in(1, STREAMS),
    }
    refused = (RETURN, 0, 0, ANSWER | errno.EPERM)
    code = [(LOAD, 0, 0, ARCHITECTURE), (JUMP_EQUAL, 1, 0, architecture), refused, (LOAD, 0, 0, NUMBER)]
    for name, number in conditional.items():
        code += [(JUMP_EQUAL, 0, len(conditions[name]), number), *conditions[name]]
    numbers = sorted(free.values())
    code += [(JUMP_EQUAL, len(numbers) - place, 0, number) for place, number in enumerate(numbers)]
    return [*code, (RETURN, 0, 0, ANSWER | errno.ENOSYS), (RETURN, 0, 0, ALLOW)]


def _numbers(text: str, column: int) -> dict[str, int]:
    rows = (row.split() for row in text.split(","))
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


def _argument_in(place: int, values: Sequence[int]) -> list[Instruction]:
    """Look at an argument (its lower half: the kernel takes no more of these) and allow the call for these values."""
    checks = [(JUMP_EQUAL, len(values) - number, 0, value) for number, value in enumerate(values)]
    return [(LOAD, 0, 0, ARGUMENTS + 8 * place), *checks, (RETURN, 0, 0, ANSWER | errno.EPERM), (RETURN, 0, 0, ALLOW)]


def _thread_only() -> list[Instruction]:
    return [
        (LOAD, 0, 0, ARGUMENTS), (JUMP_BITS, 1, 0, CLONE_THREAD), (RETURN, 0, 0, ANSWER | errno.EPERM), (RETURN, 0, 0, ALLOW),
    ]
