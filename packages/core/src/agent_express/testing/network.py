"""A guard for tests: nothing leaves this machine.

    with no_network():
        await agent.run("hi")           # a real provider, reached by mistake, is a NetworkError that names it

The guard listens to the interpreter's own audit events (PEP 578), which the socket module raises for every
connection, datagram and look-up, however a library got hold of its functions. What these events leave out is guarded
at its methods: names that a socket looks up itself, and the two event loops that connect without the socket module,
Windows' proactor and uvloop. Loopback addresses and unix sockets are free. Other processes, and C libraries with
sockets of their own, are not seen.
"""

from __future__ import annotations

import functools
import ipaddress
import socket
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, TypeAlias

from .errors import NetworkError

Target: TypeAlias = tuple[Any, Any]  # host and port, as the caller gave them


class Guard:
    """What a guard has refused.

    Attributes:
        refused: One line per call, "api.openai.com:443 (socket.getaddrinfo)"; also where a library has swallowed the
            error.
    """

    def __init__(self) -> None:
        self.refused: list[str] = []

    def check(self, host: object, port: object, how: str) -> None:
        """Let a call to *host* pass or refuse it.

        Raises:
            NetworkError: The host is not this machine.
        """
        if is_local(host):
            return
        call = f"{_text(host)}{'' if port is None else f':{_text(port)}'} ({how})"
        self.refused.append(call)
        raise NetworkError(
            f"a test wanted to reach {call}; only this machine may be reached here: answer with a ScriptedModel, "
            f"replay a cassette, or leave the guard out for this test"
        )


_guards: list[Guard] = []  # entered and not left, the innermost last; of the process, because threads are guarded too
_installed = ExitStack()  # takes the guarded methods away again when the last guard is left


@contextmanager
def no_network() -> Generator[Guard]:
    """Refuse every connection, datagram and name look-up that is not for this machine, in all threads.

    uvloop is guarded where it was imported before the outermost guard.

    Raises:
        NetworkError: Where the call is made; it names host and port.
    """
    _listen()
    guard = Guard()
    if not _guards:
        for seam in _seams():
            _installed.enter_context(_guarded(*seam))
    _guards.append(guard)
    try:
        yield guard
    finally:
        _guards.remove(guard)
        if not _guards:
            _installed.close()


def is_local(host: object) -> bool:
    """Whether *host*, a name or an address, is this machine; None and "" stand for it."""
    name = _text(host).partition("%")[0].rstrip(".").lower()
    if host is None or name in ("", "localhost", socket.gethostname().lower()) or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    address = mapped or address
    return address.is_loopback or address.is_unspecified


def _text(value: object) -> str:
    return value.decode("ascii", "replace") if isinstance(value, bytes | bytearray) else str(value)


# --- the interpreter's own events -----------------------------------------------------------------


def _of_socket(args: tuple[Any, ...]) -> Target:
    sock, address = args
    if address is None or sock.family in _HERE:
        return None, None
    return _of_address(address)


def _of_address(address: Any) -> Target:
    if isinstance(address, str | bytes | int):
        return address, None
    host, port = (*address, None)[:2]  # some families have one value, some more than two
    return host, port


_HERE = {getattr(socket, name) for name in ("AF_UNIX", "AF_NETLINK") if hasattr(socket, name)}

_EVENTS: Mapping[str, Callable[[tuple[Any, ...]], Target]] = {
    "socket.connect": _of_socket,
    "socket.sendto": _of_socket,
    "socket.sendmsg": _of_socket,
    "socket.getaddrinfo": lambda args: (args[0], args[1]),
    "socket.gethostbyname": lambda args: (args[0], None),
    "socket.gethostbyaddr": lambda args: (args[0], None),
    "socket.getnameinfo": lambda args: _of_address(args[0]),
}


def _heard(event: str, args: tuple[Any, ...]) -> None:
    if _guards and event in _EVENTS:
        _guards[-1].check(*_EVENTS[event](args), event)


@functools.cache
def _listen() -> None:
    """Once per process: an audit hook cannot be taken away again; without a guard it does nothing."""
    sys.addaudithook(_heard)


# --- what the interpreter tells too late, or not at all -------------------------------------------

Seam: TypeAlias = tuple[type, str, Callable[..., Target], bool]  # class, method, its target, whether it is awaited


def _seams() -> Iterator[Seam]:
    """A socket looks names up before it tells of a connection; two event loops connect without the socket module."""
    yield socket.socket, "connect", _of_connect, False
    yield socket.socket, "connect_ex", _of_connect, False
    yield socket.socket, "sendto", _of_sendto, False
    if sys.platform == "win32":
        from asyncio.windows_events import IocpProactor

        yield IocpProactor, "connect", _of_proactor_connect, False
        yield IocpProactor, "sendto", _of_proactor_sendto, False
    uvloop = sys.modules.get("uvloop")
    if uvloop is not None:
        yield uvloop.Loop, "create_connection", _of_connection, True
        yield uvloop.Loop, "create_datagram_endpoint", _of_endpoint, True
        yield uvloop.Loop, "getaddrinfo", _of_lookup, True
        yield uvloop.Loop, "getnameinfo", _of_lookup_back, True


def _of_connect(sock: Any, address: Any) -> Target:
    return _of_socket((sock, address))


def _of_sendto(sock: Any, _data: object, *flags_and_address: Any) -> Target:
    return _of_socket((sock, flags_and_address[-1]))


def _of_proactor_connect(_proactor: object, conn: Any, address: Any) -> Target:
    return _of_socket((conn, address))


def _of_proactor_sendto(_proactor: object, conn: Any, _data: object, _flags: int = 0, addr: Any = None) -> Target:
    return _of_socket((conn, addr))


def _of_connection(_loop: object, _factory: object, host: Any = None, port: Any = None, **_: object) -> Target:
    return host, port


def _of_endpoint(_loop: object, _factory: object, _local: object = None, remote_addr: Any = None, **_: Any) -> Target:
    return (None, None) if remote_addr is None or isinstance(remote_addr, str) else _of_address(remote_addr)


def _of_lookup(_loop: object, host: Any, port: Any, **_: object) -> Target:
    return host, port


def _of_lookup_back(_loop: object, sockaddr: Any, _flags: int = 0) -> Target:
    return _of_address(sockaddr)


@contextmanager
def _guarded(owner: type, method: str, target: Callable[..., Target], awaited: bool) -> Generator[None]:
    """Check the target of each call of *method* before the call is made."""
    own = method in vars(owner)
    original = getattr(owner, method)

    def check(*args: Any, **kwargs: Any) -> None:
        if _guards:
            _guards[-1].check(*target(*args, **kwargs), f"{owner.__name__}.{method}")

    @functools.wraps(original)
    def checked(*args: Any, **kwargs: Any) -> Any:
        check(*args, **kwargs)
        return original(*args, **kwargs)

    @functools.wraps(original)
    async def checked_when_awaited(*args: Any, **kwargs: Any) -> Any:
        check(*args, **kwargs)
        return await original(*args, **kwargs)

    setattr(owner, method, checked_when_awaited if awaited else checked)
    try:
        yield
    finally:
        if own:
            setattr(owner, method, original)
        else:
            delattr(owner, method)
