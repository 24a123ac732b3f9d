"""``mpflow top``: how a running pipeline is doing, again and again.

a terminal     one screen, drawn over itself; q or Ctrl-C leaves
elsewhere      the same as text, one after the other
--json         a Snapshot a line (mpflow/snapshot.py)
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
import msgspec

from mpflow.control import Control, RunAt, find
from mpflow.errors import PeerLost
from mpflow.requests import Stats

if TYPE_CHECKING:  # a screen is not needed for JSON
    from rich.console import Console

    from mpflow.snapshot import Snapshot

WIDE = 400
"""Columns of text for who is no terminal, so that nothing is cut off and no sentence is broken."""

Show = Callable[["Snapshot | None"], None]


def show_top(word: str, *, as_json: bool, once: bool, interval: float) -> None:
    """Watch a run until it is over, or until the user has seen enough."""
    run = find(word)
    try:
        with _display(as_json=as_json, once=once) as show, Control(run.path) as control:
            while True:
                show(control.ask(Stats()).snapshot)
                if once or _wants_to_leave(interval):
                    return
    except PeerLost:
        click.echo(f"{_called(run)} is over", err=True)
    except KeyboardInterrupt:
        return  # that is how one leaves it


def show_once(snapshot: Snapshot | None) -> None:
    """One snapshot as text."""
    from mpflow.console.topview import screen

    _console().print(screen(snapshot))


@contextmanager
def _display(*, as_json: bool, once: bool) -> Iterator[Show]:
    if as_json:
        yield _show_line
    elif once or not sys.stdout.isatty():
        yield _text_after_text
    else:
        with _full_screen() as show, _keys_at_once():
            yield show


def _show_line(snapshot: Snapshot | None) -> None:
    click.echo(msgspec.json.encode(snapshot).decode())


def _text_after_text(snapshot: Snapshot | None) -> None:
    show_once(snapshot)
    click.echo()


@contextmanager
def _full_screen() -> Iterator[Show]:
    from rich.live import Live

    from mpflow.console.topview import screen

    with Live(console=_console(), screen=True, auto_refresh=False) as live:
        yield lambda snapshot: live.update(screen(snapshot), refresh=True)


def _console() -> Console:
    from rich.console import Console

    wide = sys.stdout.isatty()
    return Console(highlight=False, width=None if wide else WIDE)


@contextmanager
def _keys_at_once() -> Iterator[None]:
    """Let a key be read when it is struck, without Return."""
    if not sys.stdin.isatty():
        yield
        return
    import termios
    import tty

    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard)
    try:
        tty.setcbreak(keyboard)
        yield
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


def _wants_to_leave(interval: float) -> bool:
    """Wait for the next refresh; whether q was struck meanwhile."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        select.select([], [], [], interval)
        return False
    keyboard = sys.stdin.fileno()
    ready, _, _ = select.select([keyboard], [], [], interval)
    return bool(ready) and is_enough(keyboard)


def is_enough(keyboard: int) -> bool:
    """Whether q is among the keys that were struck, or the terminal is gone.

    All keys are taken from the descriptor itself: those that a buffered text stream had read ahead
    would not be seen by select.
    """
    try:
        keys = os.read(keyboard, 4096)
    except OSError:  # a terminal that was hung up (EIO)
        return True
    return not keys or b"q" in keys.lower()


def _called(run: RunAt) -> str:
    return f"run {run.name or run.id}"
