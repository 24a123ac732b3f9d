"""``mpflow audit``: from its flags to a report on standard output and an exit status.

With --json standard output gets the report as one line, an ``audit`` event; ``--report`` writes
the same to a file.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from mpflow.console.frames import wanted_frames
from mpflow.console.stops import Stops
from mpflow.console.text import say
from mpflow.errors import ConfigError

if TYPE_CHECKING:
    from mpflow.audit.conclusion import Result
    from mpflow.audit.wish import Wish

_REPORT_BEGINS = re.compile(rb'\{\s*"mpflow_audit":')


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditArguments:
    """The command line of ``mpflow audit``; None means not given."""

    source: Path
    target: Path
    keep: Path | None = None
    only: Path | None = None
    spans: str = ""
    replaced: bool = False
    frames: str | None = None
    sheet: Path | None = None
    report: Path | None = None
    as_json: bool = False
    score: float = 0.2
    every: float = 0.5
    size: str = "auto"
    device: str | None = None
    workers: int | str | None = None
    offline: bool | None = None
    log_level: str | None = None

    def check(self) -> None:
        """Raise ConfigError or OutputError for what is wrong at first sight."""
        from mpflow.audit.mark import SHEET_BEGINS
        from mpflow.jobs.sidefiles import check_side_file, require_ours

        if self.keep is not None and self.only is not None:
            raise ConfigError("--keep and --only contradict each other", cure="give one of them")
        for flag, path, begins, ending in (
            ("--report", self.report, _REPORT_BEGINS, ""),
            ("--sheet", self.sheet, SHEET_BEGINS, ".png"),
        ):
            if path is not None:
                check_side_file(flag, str(path), ending)
                require_ours(flag, str(path), begins, "choose another name, or remove it")

    def wish(self) -> Wish:
        """What is to be audited; raises ConfigError for frames or spans that are none."""
        from mpflow.audit.verdicts import Limits
        from mpflow.audit.wish import Wish
        from mpflow.models.sizes import parse_size
        from mpflow.spans import Spans

        if self.size != "auto":
            parse_size(self.size)
        start, stop = self._frames()
        return Wish(
            self.source,
            self.target,
            people="except" if self.keep else "only" if self.only else "all",
            gallery=self.keep or self.only,
            spans=Spans.parse(self.spans),
            replaced=self.replaced,
            limits=Limits(score=self.score),
            every=self.every,
            size=self.size,
            start=start,
            stop=stop,
            device=self.device or "auto",
            workers=self.workers or 1,
            offline=bool(self.offline),
        )

    def _frames(self) -> tuple[int, int | None]:
        """The input's frames that the output was made of: as given, or as its sidecar says.

        A sidecar that is wrong all the same hides nothing: frames of the output beyond them are
        looked at too, and the audit tells where they are not those of the input.
        """
        from mpflow.audit.claims import claims_of

        claims = claims_of(self.target) if self.frames is None else None
        if claims is None:
            return wanted_frames(self.frames, None, None)
        try:
            return claims.range_of(self.source, self.target)
        except OSError:  # whoever reads the file next says what is wrong with it
            return 0, None


def show_audit(arguments: AuditArguments) -> int:
    """Audit one output, tell of it, and return the exit status."""
    from mpflow.audit.run import audit

    arguments.check()
    wish = arguments.wish()
    with Stops(), _progress() as progress:  # a signal is an error here, which cleans up on its way
        result = audit(wish, progress, say)
    _write(arguments, result)
    _tell(arguments, result)
    return result.report.exit_status


def _write(arguments: AuditArguments, result: Result) -> None:
    if arguments.report is not None:
        data = msgspec.json.format(msgspec.json.encode(result.report.as_data()), indent=2)
        _write_file(arguments.report, data + b"\n")
    if arguments.sheet is not None:
        from mpflow.audit.sheet import write_sheet

        write_sheet(result, arguments.sheet)


def _write_file(path: Path, data: bytes) -> None:
    from mpflow.linefile import file_error

    try:
        path.write_bytes(data)
    except OSError as error:
        raise file_error(path, error) from error


def _tell(arguments: AuditArguments, result: Result) -> None:
    if arguments.as_json:
        event = {"event": "audit", **result.report.as_data()}
        click.echo(json.dumps(event, ensure_ascii=False))
        return
    from mpflow.console.audit_text import report_lines

    click.echo("\n".join(report_lines(result.report)))
    if arguments.sheet is not None:
        say(f"mpflow: the contact sheet is {arguments.sheet}; it shows faces as they are")


@contextmanager
def _progress() -> Iterator[Callable[[int, int | None], None]]:
    """A bar on a terminal, gone when it is over; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield lambda frames, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = TextColumn("looking at frames"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda frames, total: bar.update(task, completed=frames, total=total)
