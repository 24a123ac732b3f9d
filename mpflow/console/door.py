"""The door of the command line: every error leaves as a sentence with its cure and its status.

click's own usage errors get the same voice; under ``--json`` an error is a JSON line too:

    error  exit_status, what, cure
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from mpflow.console.output import mute
from mpflow.errors import EXIT_SIGPIPE, ConfigError, InternalError, MpflowError
from mpflow.urls import hide_credentials

_HELP = getattr(click.exceptions, "NoArgsIsHelpError", click.exceptions.Exit)
"""A group without a command: its help is the answer. Before click 8.2 that was no error."""

_MEANT = (_HELP, click.exceptions.Exit, click.Abort)


class Door(click.Group):
    """The group of all commands."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Read the first words; the context knows whether errors are wanted as JSON."""
        as_json = _asks_for_json(args)
        with _errors_told(as_json, {}):
            context = super().make_context(info_name, args, parent, **extra)
        context.meta["mpflow.json"] = as_json
        return context

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
        with _errors_told(ctx.meta["mpflow.json"], ctx.meta):
            return super().invoke(ctx)


@contextmanager
def _errors_told(as_json: bool, meta: dict[str, Any]) -> Iterator[None]:
    """Turn what comes out into click's Exit, having told it."""
    try:
        yield
    except _MEANT:
        raise
    except BrokenPipeError as error:  # the reader of standard output has had enough
        mute()
        raise click.exceptions.Exit(EXIT_SIGPIPE) from error
    except Exception as error:
        told = _explained(error)
        if as_json:
            click.echo(_event(told))
        from mpflow.console.text import show_error

        show_error(told, debug=meta.get("mpflow.debug", False))
        raise click.exceptions.Exit(told.exit_status) from error


def _event(error: MpflowError) -> str:
    words = {"what": hide_credentials(error.what), "cure": hide_credentials(error.cure)}
    event = {"event": "error", "exit_status": error.exit_status, **words}
    return json.dumps(event, ensure_ascii=False)


def _asks_for_json(words: Sequence[str]) -> bool:
    before_files = words[: words.index("--")] if "--" in words else words
    return "--json" in before_files


def _explained(error: Exception) -> MpflowError:
    """Any exception as one of ours."""
    if isinstance(error, MpflowError):
        return error
    if isinstance(error, click.ClickException):
        return _wrong_usage(error)
    unexpected = InternalError(
        f"{type(error).__name__}: {error}",
        cure="run again with --log-level debug and report what it shows",
    )
    unexpected.__cause__ = error
    return unexpected


def _wrong_usage(error: click.ClickException) -> ConfigError:
    message = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    command = "mpflow" if context is None else context.command_path
    return ConfigError(message[:1].lower() + message[1:], cure=f"see {command} --help")
