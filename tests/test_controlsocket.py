"""A run is steered by its owner only, and nobody who talks to it can hold it up."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from multiprocessing import Process
from pathlib import Path

import msgpack
import pytest
from snapshots import snapshot_of

from mpflow import controlsocket, rundir
from mpflow.channel import Channel
from mpflow.controlsocket import MAX_CLIENTS, TOUCH_S, ControlSocket, Reply
from mpflow.errors import ConfigError, InternalError, OutputError, Refused
from mpflow.reactor import Reactor
from mpflow.requests import (
    MAX_REQUEST,
    Answer,
    Hello,
    Preview,
    Request,
    Set,
    SetMode,
    Skip,
    Stats,
    Stop,
    Unskip,
    pack,
    read_answer,
    read_request,
)
from mpflow.snapshot import Snapshot


class Desk:
    """Notes what it is asked, and answers what the test says."""

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.waiting: list[Reply] = []
        self.error: Exception | None = None

    def steer(self, request: Request, reply: Reply) -> None:
        self.asked.append(request)
        if self.error is not None:
            raise self.error
        if isinstance(request, Preview):
            self.waiting.append(reply)
        else:
            reply(Answer(f"{type(request).__name__} is done"))


class Run:
    """A run with a socket, in this very process."""

    def __init__(self) -> None:
        self.desk = Desk()
        self.snapshot: Snapshot | None = None
        self.complaints: list[str] = []
        self.reactor = Reactor()
        self.socket = ControlSocket(self.desk, lambda: self.snapshot, self.complaints.append)

    def open(self, name: str = "5c1f09ab") -> Path:
        path = self.socket.open(name, name="front door", preset="live-redact")
        self.socket.attach(self.reactor)
        return path

    def ask(self, client: socket.socket, request: Request) -> Answer:
        client.send(pack(request))
        return self.answer(client)

    def answer(self, client: socket.socket) -> Answer:
        for _ in range(20):
            self.reactor.wait(0.05)
            try:
                return read_answer(client.recv(1 << 18, socket.MSG_DONTWAIT))
            except BlockingIOError:
                continue
        raise AssertionError("no answer has come")

    def is_hung_up_on(self, client: socket.socket) -> bool:
        for _ in range(20):
            self.reactor.wait(0.05)
            try:
                return client.recv(1, socket.MSG_DONTWAIT) == b""
            except BlockingIOError:
                continue
            except ConnectionResetError:
                return True
        return False


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime folder with a path too long for a socket's address."""
    folder = tmp_path / ("long" * 25)
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder / "mpflow"


@pytest.fixture
def snapshot() -> Snapshot:
    return snapshot_of()


@pytest.fixture
def run(place: Path) -> Iterator[Run]:
    made = Run()
    yield made
    made.socket.close()


def test_only_its_owner_can_reach_the_socket(run: Run, place: Path) -> None:
    path = run.open()
    assert path == place / "5c1f09ab.sock"
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in place.iterdir()] == [path.name]


def test_it_says_who_it_is_and_how_it_goes(run: Run, snapshot: Snapshot) -> None:
    path = run.open()
    with rundir.connect(path) as client:
        hello = run.ask(client, Hello()).hello
        assert hello is not None
        assert (hello.run, hello.name, hello.pid) == ("5c1f09ab", "front door", os.getpid())
        assert (hello.preset, hello.state) == ("live-redact", "")
        assert run.ask(client, Stats()).snapshot is None
        run.snapshot = snapshot
        assert run.ask(client, Stats()).snapshot == snapshot
        hello = run.ask(client, Hello()).hello
        assert hello is not None and hello.state == snapshot.state
    assert not run.desk.asked


@pytest.mark.parametrize(
    "request_",
    [Set("detect.every", "2"), Skip("enhance"), Unskip("enhance"), SetMode("single"), Stop()],
)
def test_what_is_asked_is_done_and_answered(run: Run, request_: Request) -> None:
    with rundir.connect(run.open()) as client:
        assert run.ask(client, request_).text == f"{type(request_).__name__} is done"
    assert run.desk.asked == [request_]


def test_a_message_is_what_a_channel_packs(run: Run) -> None:
    channel = Channel(rundir.connect(run.open()))
    channel.send("set", key="detect.every", value="2")
    run.reactor.wait(0.5)
    run.reactor.wait(0.5)
    received = channel.receive()
    assert received is not None and received[0] == {"kind": "answer", "text": "Set is done"}
    channel.close()


def test_a_no_comes_with_its_cure(run: Run) -> None:
    run.desk.error = Refused("stage redact protects people", cure="leave it in")
    with rundir.connect(run.open()) as client:
        with pytest.raises(Refused, match="protects people") as caught:
            run.ask(client, Skip("redact"))
        assert caught.value.cure == "leave it in"
        run.desk.error = None
        assert run.ask(client, Stop()).text == "Stop is done"
    assert not run.complaints


def test_a_fault_of_the_run_is_answered_and_complained_of(run: Run) -> None:
    run.desk.error = KeyError("oops")
    with rundir.connect(run.open()) as client:
        with pytest.raises(InternalError, match="KeyError") as caught:
            run.ask(client, Stop())
        assert not caught.value.remote_traceback
    assert run.complaints == ["a request failed: KeyError: 'oops'"]


@pytest.mark.parametrize(
    "data",
    [
        b"\xc1",
        b"hello",
        msgpack.packb({"kind": "sit"}),
        msgpack.packb({"kind": "set", "key": "detect.every"}),
        msgpack.packb({"kind": "mode", "mode": "sideways"}),
        msgpack.packb({"kind": "skip", "stage": "x" * MAX_REQUEST}),
        msgpack.packb([1, 2]),
        b"\x81" * 4000,
    ],
)
def test_rubbish_is_answered_with_an_error(run: Run, data: bytes) -> None:
    with rundir.connect(run.open()) as client:
        client.send(data)
        with pytest.raises(ConfigError, match="that is no request"):
            run.answer(client)
        assert run.ask(client, Stop()).text == "Stop is done"
    assert not run.complaints


def test_a_later_version_may_say_more() -> None:
    data = msgpack.packb({"kind": "skip", "stage": "enhance", "for": 3})
    assert read_request(data) == Skip("enhance")


def test_an_answer_may_come_later_while_others_are_served(run: Run) -> None:
    path = run.open()
    with rundir.connect(path) as first, rundir.connect(path) as second:
        first.send(pack(Preview("/p.png")))
        assert run.ask(second, Stop()).text == "Stop is done"
        run.desk.waiting[0](Answer("written", path="/p.png"))
        assert run.answer(first).path == "/p.png"


def test_an_answer_for_somebody_who_has_left_goes_nowhere(run: Run) -> None:
    path = run.open()
    with rundir.connect(path) as client:
        client.send(pack(Preview()))
        run.reactor.wait(0.5)
        run.reactor.wait(0.5)
    with rundir.connect(path) as other:
        assert run.ask(other, Stop()).text == "Stop is done"
        run.desk.waiting[0](Answer("written"))
        assert run.ask(other, Stop()).text == "Stop is done"


def test_who_does_not_take_the_answers_is_hung_up_on(run: Run, snapshot: Snapshot) -> None:
    run.snapshot = snapshot
    path = run.open()
    with rundir.connect(path) as client:
        client.setblocking(False)
        client.send(pack(Hello()))
        for _ in range(20_000):
            try:
                client.send(pack(Stats()))
            except BlockingIOError:
                continue
            except OSError:
                break
            finally:
                run.reactor.wait(0)
        else:
            raise AssertionError("still served")
        with rundir.connect(path) as other:
            assert run.ask(other, Stop()).text == "Stop is done"


def test_a_crowd_is_turned_away_and_has_room_again_when_somebody_leaves(run: Run) -> None:
    path = run.open()
    crowd = []
    for _ in range(MAX_CLIENTS):
        crowd.append(rundir.connect(path))
        assert run.ask(crowd[-1], Hello()).hello is not None
    with rundir.connect(path) as late:
        assert run.is_hung_up_on(late)
    crowd.pop().close()
    run.reactor.wait(0.5)
    with rundir.connect(path) as late:
        assert run.ask(late, Hello()).hello is not None
    for client in crowd:
        client.close()


def test_somebody_elses_process_is_not_listened_to(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = run.open()
    monkeypatch.setattr(controlsocket, "_CREDENTIALS", SomebodyElse())
    with rundir.connect(path) as client:
        assert run.is_hung_up_on(client)


class SomebodyElse:
    """What the kernel would tell of another user's process; root's may do anything."""

    size = 12

    def unpack(self, _: bytes) -> tuple[int, ...]:
        return (1, os.geteuid() + 4711, 4711)


def test_descriptors_that_a_client_sends_are_dropped(run: Run) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with rundir.connect(run.open()) as client:
        socket.send_fds(client, [pack(Stop())], [0, 1])
        assert run.answer(client).text == "Stop is done"
        run.socket.close()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


def test_the_socket_goes_with_its_run(run: Run, place: Path) -> None:
    path = run.open()
    with rundir.connect(path) as client:
        run.ask(client, Hello())
        run.socket.close()
        assert client.recv(1) == b""
    assert not list(place.iterdir())
    run.socket.close()


def test_the_file_is_kept_young_so_that_nothing_sweeps_it_away(run: Run) -> None:
    run.socket.tick(0.0)
    path = run.open()
    os.utime(path, (0, 0))
    run.socket.tick(100.0)
    young = path.stat().st_mtime
    assert young > 1e9
    os.utime(path, (0, 0))
    run.socket.tick(200.0)
    assert path.stat().st_mtime == 0
    run.socket.tick(100.0 + TOUCH_S)
    assert path.stat().st_mtime >= young


def test_what_a_killed_run_leaves_is_removed_by_the_next_one(run: Run, place: Path) -> None:
    place.mkdir(mode=0o700)
    victim = Process(target=_listen_and_die, args=(place / "dead.sock",))
    victim.start()
    victim.join()
    with pytest.raises(ConnectionRefusedError):
        rundir.connect(place / "dead.sock")
    living = Run()
    path = living.open("living")
    assert {each.name for each in place.iterdir()} == {"living.sock"}
    run.open("another")
    found = [each.name for each in rundir.sockets() if each.parent == place]
    assert found == ["another.sock", "living.sock"]
    with rundir.connect(path) as client:
        assert living.ask(client, Hello()).hello is not None
    living.socket.close()


def _listen_and_die(path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with rundir.short_name(path) as name:
        listener.bind(name)
    listener.listen()
    os._exit(0)


def test_without_a_session_the_socket_is_in_a_folder_of_ones_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "missing"))
    folder = rundir.own_folder()
    assert folder == Path(f"/tmp/mpflow-{os.geteuid()}")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert folder in rundir.folders()


def test_a_link_in_the_folders_place_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "mpflow").symlink_to("elsewhere")
    with pytest.raises(OutputError, match="belongs to somebody else"):
        rundir.own_folder()
    assert tmp_path / "mpflow" not in rundir.folders()


def test_a_folder_that_others_may_read_is_closed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "mpflow").mkdir()
    (tmp_path / "mpflow").chmod(0o777)
    assert stat.S_IMODE(rundir.own_folder().stat().st_mode) == 0o700


def test_a_hanging_run_holds_nobody_up(place: Path) -> None:
    place.mkdir(mode=0o700)
    path = place / "hangs.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        with rundir.short_name(path) as name:
            listener.bind(name)
        listener.listen(0)
        held = []
        with pytest.raises(BlockingIOError):
            for _ in range(8):
                held.append(rundir.connect(path))
        run = Run()
        run.open()
        run.socket.close()
        assert path.exists()
        for client in held:
            client.close()
