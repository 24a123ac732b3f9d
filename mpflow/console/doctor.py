"""The doctor's findings as lines or JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from mpflow.doctor import Verdict, examine, exit_status

_COLOURS = {Verdict.OK: "green", Verdict.WARN: "yellow", Verdict.FAIL: "red"}


def show_checks(*, as_json: bool) -> int:
    """Do and show every check; the exit status."""
    checks = []
    for check in examine():
        checks.append(check)
        if as_json:
            click.echo(json.dumps(asdict(check), ensure_ascii=False))
            continue
        mark = click.style(str(check.verdict).ljust(4), fg=_COLOURS[check.verdict])
        click.echo(f"{mark}  {check.name}: {check.text}")
        if check.cure:
            click.echo(f"      cure: {check.cure}")
    return exit_status(checks)
