"""A worker never outlives its supervisor, whatever it is doing and however it was started."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from mpflow.shm import DeathPipe

SUPERVISOR = """
    import multiprocessing, signal, sys
    sys.path.insert(0, {here!r})
    import ring_workers
    from mpflow.shm import DeathPipe
    if __name__ == "__main__":
        context = multiprocessing.get_context({method!r})
        pipe = DeathPipe.create()
        here, there = context.Pipe()
        for in_c in (False, True):
            context.Process(
                target=ring_workers.live_until_the_pipe_breaks, args=(pipe.handle(), there, in_c)
            ).start()
            print(here.recv()[0], flush=True)
        signal.pause()
"""


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_workers_die_with_a_killed_supervisor(tmp_path: Path, method: str) -> None:
    script = tmp_path / "supervisor.py"
    here = str(Path(__file__).parent)
    script.write_text(textwrap.dedent(SUPERVISOR.format(here=here, method=method)))
    supervisor = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    workers = [os.pidfd_open(int(supervisor.stdout.readline())) for _ in range(2)]
    supervisor.kill()
    supervisor.wait()
    supervisor.stdout.close()
    for worker in workers:
        ready, _, _ = select.select([worker], [], [], 30)
        assert ready, "a worker outlived its supervisor"
        os.close(worker)


def test_a_worker_armed_after_the_death_of_its_supervisor_dies_at_once() -> None:
    script = """
        import os, signal
        from mpflow.shm import arm
        readable, writable = os.pipe()
        os.close(writable)
        arm(readable)
        signal.pause()
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL


def test_closing_a_death_pipe_twice_is_harmless() -> None:
    pipe = DeathPipe.create()
    pipe.close()
    pipe.close()
    assert pipe.read_fd == -1
