"""The flags of ``mpflow live`` and the text about its exit status; what it shares with ``run`` is
its."""

from __future__ import annotations

import math

import click

from mpflow.console.covering import COVERING
from mpflow.console.giving import F, give
from mpflow.console.options import of_run
from mpflow.console.people import PEOPLE
from mpflow.console.swapping import SWAPPING

EXIT_CODES = """\b
Exit status:
  0    the stream came to its end, or `mpflow ctl RUN stop` asked for it
  1    internal error, or a stage that died for good
  2    wrong usage or configuration, or an output that cannot be written,
       or was lost for longer than --retry
  3    input missing, unreadable, or lost for longer than --retry
  4    refused by policy
  5    ended, but frames were dropped, masked, passed or degraded
       (with --strict)
  6    not enough disk, shared memory or memory
  130  stopped by Ctrl-C; 143 by SIGTERM or SIGHUP: in order all the same,
       what had come was written and the output was closed
  141  standard output was closed by its reader"""


def _seconds(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """A time in seconds, or ``inf``."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not seconds >= 0:
        raise click.BadParameter(f"{value!r} is neither a number of seconds nor inf")
    return seconds


_ENDS = (
    click.option(
        "-i",
        "--input",
        "source",
        required=True,
        metavar="URL",
        help="rtsp(s), rtmp(s), udp, tcp, http(s), /dev/videoN, or a file, read at its own pace.",
    ),
    click.option(
        "-o",
        "--output",
        required=True,
        metavar="URL",
        help="rtmp(s), rtsp(s), udp, tcp, http(s), a loopback camera /dev/videoN, a file, or - for "
        "standard output.",
    ),
    click.option("-y", "yes", is_flag=True, help="Replace an output file that exists."),
    click.option(
        "--preset",
        default="live-redact",
        show_default=True,
        help="What to do: a live one of `mpflow presets list`, or a YAML file of your own.",
    ),
    *PEOPLE,
    *COVERING,
    *SWAPPING,
    click.option(
        "--max-latency",
        type=click.FloatRange(0, min_open=True),
        metavar="S",
        help="The age of a frame at its output, at most; what would be older is dropped."
        "  [default: 2]",
    ),
    click.option(
        "--retry",
        callback=_seconds,
        metavar="S",
        help="For how long a lost input or output is connected anew, in seconds; inf for ever.",
    ),
    click.option(
        "--listen",
        is_flag=True,
        default=None,
        help="Wait for a sender to connect to the input's address (rtmp, tcp, rtsp, http).",
    ),
    click.option("--loop", is_flag=True, default=None, help="Begin a file anew at its end."),
    click.option(
        "--insecure",
        is_flag=True,
        default=None,
        help="Do not check the certificates of rtsps, rtmps, tls and https.",
    ),
    click.option(
        "--format",
        "container",
        metavar="FORMAT",
        help="The output's container where its name does not tell: mpegts, nut, matroska, flv.",
    ),
    click.option(
        "--audio/--no-audio", default=None, help="Carry sound along.  [default: as it comes]"
    ),
    click.option("--codec", help="Video encoder, for example libx264, h264_nvenc."),
    click.option("--crf", type=float, help="Quality on the encoder's own scale; lower is better."),
    click.option("--bitrate", metavar="BITS", help="Bits a second, at most: 4M, 800k."),
    click.option("--encoder-preset", help="The encoder's speed preset, for example veryfast."),
    click.option(
        "--encoder-option",
        "encoder_options",
        multiple=True,
        metavar="KEY=VALUE",
        help="Any further option of the encoder.",
    ),
    click.option(
        "--preview",
        default="",
        metavar="PATH",
        help="Where `mpflow ctl RUN preview` puts a picture of the output (.png or .jpg).",
    ),
)

_OF_RUN = {"settings", "config", "device", "workers", "memory", "strict", "on_failure"} | {
    "on_alert",
    "core_dumps",
    "name",
    "metrics",
    "alert_p99",
    "ladder",
    "degrade",
    "offline",
    "as_json",
    "log_level",
    "log_file",
    "report",
    "trace",
    "tokens",
    "dry_run",
}


def live_options(command: F) -> F:
    """Give a command the flags of ``mpflow live``; they fill a LiveArguments."""
    return give(command, [*_ENDS, *of_run(only=_OF_RUN)])
