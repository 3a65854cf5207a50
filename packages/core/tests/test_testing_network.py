"""The network guard, with real sockets: what is refused never leaves this machine because the guard stands before."""

from __future__ import annotations

import asyncio
import concurrent.futures
import importlib
import importlib.util
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_express.errors import ExpressError
from agent_express.testing import NetworkError, no_network
from agent_express.testing.network import Guard, _guarded, is_local

ELSEWHERE = "192.0.2.1"  # a documentation address (RFC 5737): nobody answers there, even without a guard


@pytest.fixture
def sock() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as made:
        made.settimeout(10)
        yield made


@pytest.fixture
def datagrams() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        yield made


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def test_connecting_elsewhere_is_refused_with_host_and_port(sock: socket.socket) -> None:
    with no_network() as guard, pytest.raises(NetworkError) as caught:
        sock.connect((ELSEWHERE, 443))
    assert str(caught.value) == (
        "a test wanted to reach 192.0.2.1:443 (socket.connect); only this machine may be reached here: answer with a "
        "ScriptedModel, replay a cassette, or leave the guard out for this test"
    )
    assert isinstance(caught.value, ExpressError)
    assert isinstance(caught.value, OSError)
    assert guard.refused == ["192.0.2.1:443 (socket.connect)"]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda sock, _: sock.connect_ex((ELSEWHERE, 80)), "192.0.2.1:80 (socket.connect_ex)"),
        (lambda sock, _: sock.connect(("example.com", 80)), "example.com:80 (socket.connect)"),
        (lambda _, udp: udp.sendto(b"x", (ELSEWHERE, 53)), "192.0.2.1:53 (socket.sendto)"),
        (lambda _, udp: udp.connect((ELSEWHERE, 53)), "192.0.2.1:53 (socket.connect)"),
        (lambda *_: socket.create_connection((ELSEWHERE, 443)), "192.0.2.1:443 (socket.getaddrinfo)"),
        (lambda *_: socket.create_connection(("example.com", 443)), "example.com:443 (socket.getaddrinfo)"),
        (lambda *_: socket.getaddrinfo("example.com", "https"), "example.com:https (socket.getaddrinfo)"),
        (lambda *_: socket.getaddrinfo(b"example.com", None), "example.com (socket.getaddrinfo)"),
        (lambda *_: socket.gethostbyname("example.com"), "example.com (socket.gethostbyname)"),
        (lambda *_: socket.gethostbyname_ex("example.com"), "example.com (socket.gethostbyname)"),
        (lambda *_: socket.gethostbyaddr(ELSEWHERE), "192.0.2.1 (socket.gethostbyaddr)"),
        (lambda *_: socket.getnameinfo((ELSEWHERE, 80), 0), "192.0.2.1:80 (socket.getnameinfo)"),
    ],
)
def test_every_way_out_is_refused(
    sock: socket.socket, datagrams: socket.socket, call: Callable[..., object], told: str
) -> None:
    with no_network() as guard, pytest.raises(NetworkError):
        call(sock, datagrams)
    assert guard.refused == [told]


def test_ipv6_addresses_elsewhere_are_refused() -> None:
    with no_network() as guard, pytest.raises(NetworkError, match=r"2001:db8::1:443"):
        socket.create_connection(("2001:db8::1", 443))
    assert len(guard.refused) == 1


def test_this_machine_can_be_reached_by_connection_and_datagram(
    listener: socket.socket, datagrams: socket.socket
) -> None:
    port = listener.getsockname()[1]
    with no_network() as guard:
        for host in ("127.0.0.1", "localhost"):
            with socket.create_connection((host, port), timeout=10) as made:
                peer, _ = listener.accept()
                peer.sendall(b"hello")
                assert made.recv(5) == b"hello"
                peer.close()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
            receiver.bind(("127.0.0.1", 0))
            datagrams.sendto(b"dgram", receiver.getsockname())
            assert receiver.recv(5) == b"dgram"
    assert guard.refused == []


@pytest.mark.parametrize(
    "host",
    [
        *(None, "", b"", "localhost", "LOCALHOST.", "db.localhost", b"localhost", socket.gethostname()),
        *("127.0.0.1", "127.8.9.1", "::1", "::1%lo", "0.0.0.0", "::", "::ffff:127.0.0.1", bytearray(b"127.0.0.1")),
    ],
)
def test_these_hosts_are_this_machine(host: object) -> None:
    assert is_local(host)


@pytest.mark.parametrize(
    "host",
    [
        *("example.com", "localhost.example.com", "notlocalhost", b"example.com", "<broadcast>", "None"),
        *("10.0.0.1", "192.168.1.1", "169.254.169.254", "::ffff:10.0.0.1", "fe80::1%eth0"),
    ],
)
def test_these_hosts_are_not(host: object) -> None:
    assert not is_local(host)


def test_the_guard_ends_with_its_block(sock: socket.socket) -> None:
    call = ("socket.connect", sock, (ELSEWHERE, 9))  # told as the socket module tells it, without the call itself
    with no_network() as guard, pytest.raises(NetworkError):
        sys.audit(*call)
    sys.audit(*call)
    assert guard.refused == ["192.0.2.1:9 (socket.connect)"]


def test_guards_can_be_nested_and_the_innermost_keeps_the_account(sock: socket.socket) -> None:
    with no_network() as outer:
        with no_network() as inner, pytest.raises(NetworkError):
            sock.connect((ELSEWHERE, 1))
        with pytest.raises(NetworkError):
            sock.connect((ELSEWHERE, 2))
    assert (inner.refused, outer.refused) == (
        ["192.0.2.1:1 (socket.connect)"],
        ["192.0.2.1:2 (socket.connect)"],
    )


def test_threads_are_guarded_also_those_that_ran_before(sock: socket.socket) -> None:
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        threads.submit(threading.get_ident).result()
        with no_network() as guard, pytest.raises(NetworkError):
            threads.submit(sock.connect, (ELSEWHERE, 443)).result()
    assert guard.refused == ["192.0.2.1:443 (socket.connect)"]


def test_a_function_that_was_fetched_before_the_guard_is_guarded_too() -> None:
    look_up = socket.getaddrinfo
    with no_network(), pytest.raises(NetworkError, match=r"example\.com:443"):
        look_up("example.com", 443)


# --- event loops --------------------------------------------------------------------------------


def loops() -> list[Callable[[], asyncio.AbstractEventLoop]]:
    found: list[Callable[[], asyncio.AbstractEventLoop]] = [asyncio.new_event_loop]
    if sys.platform == "win32":
        found += [asyncio.SelectorEventLoop, asyncio.ProactorEventLoop]
    if importlib.util.find_spec("uvloop"):
        found.append(importlib.import_module("uvloop").new_event_loop)
    return found


@pytest.fixture(params=loops(), ids=lambda made: f"{made.__module__}.{made.__qualname__}")
def loop(request: pytest.FixtureRequest) -> Iterator[asyncio.AbstractEventLoop]:
    made = request.param()
    yield made
    made.run_until_complete(made.shutdown_asyncgens())
    made.run_until_complete(made.shutdown_default_executor())
    made.close()


@pytest.mark.parametrize("host", [ELSEWHERE, "example.com", "2001:db8::1"])
def test_asyncio_cannot_connect_elsewhere(loop: asyncio.AbstractEventLoop, host: str) -> None:
    with no_network() as guard, pytest.raises(NetworkError, match=f"wanted to reach {host}:443"):
        loop.run_until_complete(asyncio.wait_for(asyncio.open_connection(host, 443), 10))
    assert len(guard.refused) == 1


def test_asyncio_cannot_connect_a_socket_look_up_a_name_or_send_elsewhere(
    loop: asyncio.AbstractEventLoop, sock: socket.socket
) -> None:
    async def calls() -> AsyncIterator[Any]:
        yield loop.sock_connect(sock, (ELSEWHERE, 443))
        yield loop.getaddrinfo("example.com", 443)
        yield loop.getnameinfo((ELSEWHERE, 443))
        yield loop.create_datagram_endpoint(asyncio.DatagramProtocol, remote_addr=(ELSEWHERE, 53))

    async def refused() -> int:
        count = 0
        async for call in calls():
            with pytest.raises(NetworkError):
                await asyncio.wait_for(call, 10)
            count += 1
        return count

    sock.setblocking(False)
    with no_network():
        assert loop.run_until_complete(refused()) == 4


def test_asyncio_reaches_this_machine(loop: asyncio.AbstractEventLoop) -> None:
    async def talk() -> bytes:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.readline())
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection("localhost", server.sockets[0].getsockname()[1])
            writer.write(b"hello\n")
            said = await reader.read()
            writer.close()
            await writer.wait_closed()
        return said

    with no_network() as guard:
        assert loop.run_until_complete(talk()) == b"hello\n"
    assert guard.refused == []


def test_unix_sockets_and_socket_pairs_are_free() -> None:
    with no_network() as guard, tempfile.TemporaryDirectory() as folder:  # a unix socket's path has about 100 bytes
        left, right = socket.socketpair()
        with left, right:
            left.sendall(b"x")
            assert right.recv(1) == b"x"
        if hasattr(socket, "AF_UNIX"):
            with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
                server.bind(f"{folder}/s")
                server.listen()
                client.connect(f"{folder}/s")
    assert guard.refused == []


class Proactor:
    """Has the methods of Windows' proactor that take an address; where it is real, the loops above go through it."""

    def connect(self, conn: object, address: object) -> str:
        return f"connected to {address}"


class Heir(Proactor):
    pass


@pytest.mark.parametrize("owner", [Proactor, Heir])
def test_a_loop_with_sockets_of_its_own_is_guarded_at_its_methods_and_restored(owner: type[Proactor]) -> None:
    def target(_self: Proactor, _conn: object, address: tuple[str, int]) -> tuple[str, int]:
        return address

    before = dict(vars(owner))
    with no_network() as guard, _guarded(owner, "connect", target, False):
        assert owner().connect(None, ("127.0.0.1", 1)) == "connected to ('127.0.0.1', 1)"
        with pytest.raises(NetworkError, match=rf"192\.0\.2\.1:1 \({owner.__name__}\.connect\)"):
            owner().connect(None, (ELSEWHERE, 1))
    assert guard.refused == [f"192.0.2.1:1 ({owner.__name__}.connect)"]
    assert dict(vars(owner)) == before


def test_leaving_the_outer_guard_first_leaves_the_inner_one_and_then_nothing() -> None:
    outer, inner = no_network(), no_network()
    outer.__enter__()
    guard: Guard = inner.__enter__()
    outer.__exit__(None, None, None)
    with pytest.raises(NetworkError):
        socket.getaddrinfo("example.com", 1)
    inner.__exit__(None, None, None)
    assert len(guard.refused) == 1
    assert not {"connect", "connect_ex", "sendto"} & set(vars(socket.socket))


# --- the pytest plugin --------------------------------------------------------------------------

SUITE = """
import socket
import pytest

@pytest.fixture
def looked_up():
    return socket.gethostbyname("fixture.example.com")

def test_calls_out():
    socket.getaddrinfo("example.com", 443)

def test_swallows():
    with pytest.raises(OSError):
        socket.getaddrinfo("swallowed.example.com", 443)

def test_expects_it(network_guard):
    with pytest.raises(OSError):
        socket.getaddrinfo("expected.example.com", 443)
    assert network_guard.refused == ["expected.example.com:443 (socket.getaddrinfo)"]
    network_guard.refused.clear()

def test_with_fixture(looked_up):
    raise AssertionError("not reached")

@pytest.mark.network
def test_marked(network_guard):
    assert network_guard is None
    from agent_express.testing import network
    assert network._guards == []

def test_stays_here():
    assert socket.getaddrinfo("localhost", 1)
"""


def run_pytest(folder: Path, *options: str) -> str:
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rA", "--tb=line", *options, "."]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False, timeout=100)
    return done.stdout + done.stderr


@pytest.mark.parametrize("how", ["-p", "pytest_plugins"])
def test_the_plugin_guards_every_test_that_is_not_marked(tmp_path: Path, how: str) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n", encoding="utf-8")
    (tmp_path / "test_suite.py").write_text(SUITE, encoding="utf-8")
    if how == "-p":
        said = run_pytest(tmp_path, "-p", "agent_express.testing.plugin")
    else:
        (tmp_path / "conftest.py").write_text('pytest_plugins = ["agent_express.testing.plugin"]\n', encoding="utf-8")
        said = run_pytest(tmp_path)
    assert "a test wanted to reach example.com:443 (socket.getaddrinfo)" in said
    assert "a test wanted to reach fixture.example.com (socket.gethostbyname)" in said
    assert "the test passed, but wanted to reach swallowed.example.com:443 (socket.getaddrinfo)" in said
    assert {line.split(" - ")[0] for line in said.splitlines() if line.startswith(("PASSED", "FAILED", "ERROR"))} == {
        "FAILED test_suite.py::test_calls_out",
        "FAILED test_suite.py::test_swallows",
        "PASSED test_suite.py::test_expects_it",
        "ERROR test_suite.py::test_with_fixture",
        "PASSED test_suite.py::test_marked",
        "PASSED test_suite.py::test_stays_here",
    }


def test_importing_the_test_tools_does_not_import_pytest() -> None:
    code = "import sys, agent_express.testing; sys.exit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=100).returncode == 0
