"""``mpflow ctl``: the runs there are, and what one is asked to do."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import click
import msgspec

from mpflow.control import Control, RunAt, find, runs
from mpflow.errors import ConfigError
from mpflow.pictures import require_picture
from mpflow.requests import Answer, Preview, Request, Set, SetMode, Skip, Stats, Stop, Unskip

_MODES = ("single", "throughput", "auto")


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to ask for: how it is typed, and the request that it becomes."""

    usage: str
    counts: tuple[int, ...]
    request: Callable[..., Request]


def _set(key: str, value: str = "") -> Request:
    if "=" in key and not value:
        key, _, value = key.partition("=")
    if not (key and value):
        raise ConfigError(f"set: {key!r} is no key with a value", cure=_cure("set"))
    return Set(key, value)


def _mode(mode: str) -> Request:
    match mode:
        case "single" | "throughput" | "auto":
            return SetMode(mode)
        case "single-frame":
            return SetMode("single")
        case _:
            raise ConfigError(f"there is no mode {mode!r}", cure=f"one of {', '.join(_MODES)}")


def _preview(path: str = "") -> Request:
    if path:
        require_picture(path)
    # the run has another current folder
    return Preview(os.path.abspath(path) if path else "")  # noqa: PTH100 - symlinks stay


ACTIONS = {
    "stats": Action("stats", (0,), Stats),
    "set": Action("set KEY VALUE", (1, 2), _set),
    "skip": Action("skip STAGE", (1,), Skip),
    "unskip": Action("unskip STAGE", (1,), Unskip),
    "mode": Action("mode single|throughput|auto", (1,), _mode),
    "preview": Action("preview [PATH]", (0, 1), _preview),
    "stop": Action("stop", (0,), Stop),
}


def show_runs(*, as_json: bool) -> None:
    """A line for each run of this user."""
    known = runs()
    if as_json:
        for run in known:
            click.echo(json.dumps(_as_data(run), ensure_ascii=False))
    elif not known:
        click.echo("no run is going on", err=True)
    else:
        for line in _table(known):
            click.echo(line)


def carry_out(word: str, action: str, words: Sequence[str], *, as_json: bool) -> None:
    """Ask a run for one thing, and show its answer.

    Raises ConfigError for what cannot be asked for, and the error that the run answers with.
    """
    request = request_for(action, words)
    with Control(find(word).path) as control:
        answer = control.ask(request)
    if as_json:
        click.echo(msgspec.json.encode(answer).decode())
    elif action == "stats":
        _show(answer)
    else:
        click.echo(answer.text or "done")
        if answer.path and answer.path not in answer.text:
            click.echo(answer.path)


def request_for(action: str, words: Sequence[str]) -> Request:
    """The request of what was typed; raises ConfigError that shows how it is."""
    known = ACTIONS.get(action)
    if known is None:
        from mpflow.importer import did_you_mean

        raise ConfigError(f"nothing is called {action!r}", cure=did_you_mean(action, ACTIONS))
    if len(words) not in known.counts:
        count = f"{len(words)} word{'' if len(words) == 1 else 's'}"
        raise ConfigError(f"{action}: {count} given", cure=_cure(action))
    return known.request(*words)


def _cure(action: str) -> str:
    return f"write mpflow ctl RUN {ACTIONS[action].usage}"


def _show(answer: Answer) -> None:
    from mpflow.console.top import show_once

    show_once(answer.snapshot)


def _as_data(run: RunAt) -> dict[str, object]:
    known = {} if run.identity is None else msgspec.to_builtins(run.identity)
    return {"run": run.id, "answers": run.identity is not None, **known}


def _table(known: Sequence[RunAt]) -> Iterator[str]:
    rows = [("RUN", "NAME", "PID", "PRESET", "STATE", "UP"), *map(_row, known)]
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _row(run: RunAt) -> tuple[str, str, str, str, str, str]:
    who = run.identity
    if who is None:
        return run.id, "", "", "", "does not answer", ""
    kind = "live, " if who.live else ""
    up = f"{who.uptime:.0f} s"
    return who.run, who.name, str(who.pid), who.preset, f"{kind}{who.state or 'starting'}", up
