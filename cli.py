"""The command line: click commands, each a few lines over mpflow.console and the rooms below."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from mpflow import __version__
from mpflow.console import audit_options, farm_options, live_options
from mpflow.console import faces as faces_room
from mpflow.console import verify as verify_room
from mpflow.console.door import Door
from mpflow.console.options import EXIT_CODES, FILE, LOG_LEVELS, run_options
from mpflow.console.title import hide_credentials_in_title


@click.group("mpflow", cls=Door, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="mpflow")
def cli() -> None:
    """A face-video pipeline for machines without a screen.

    mpflow run -i in.mp4 -o out.mp4 covers every face in a video and keeps its sound and timing.
    """


@cli.command(epilog=EXIT_CODES)
@run_options
@click.pass_context
def run(ctx: click.Context, /, **given: Any) -> None:
    """Work on videos: cover faces, or whatever the preset says.

    The output is made as NAME.partial.EXT beside its final name, and renamed when it is whole.
    Flags win over environment variables (MPFLOW_DETECT__SIZE=640x384), those over the preset,
    and the preset over a --config file.
    """
    ctx.meta["mpflow.debug"] = given["log_level"] == "debug"
    from mpflow.console import runs
    from mpflow.console.arguments import Arguments

    arguments = Arguments(**given)
    if arguments.dry_run:
        runs.show_plan(arguments)
    else:
        ctx.exit(runs.run(arguments))


@cli.command(epilog=live_options.EXIT_CODES, short_help="Cover faces in a live stream.")
@live_options.live_options
@click.pass_context
def live(ctx: click.Context, /, **given: Any) -> None:
    """Work on a live stream: a camera, a server, or a file at its own pace.

    \b
      mpflow live -i rtsp://camera/1 -o rtmp://server/live/key
      mpflow live -i /dev/video0 -o /dev/video10      # a loopback camera, for video calls
      mpflow live -i clip.mp4 -o - | ffplay -f nut -

    Frames that would come later than --max-latency are dropped, input and output are connected
    anew when they are lost, and sound is carried along. `mpflow top` shows how it goes, `mpflow
    ctl` changes it. See docs/live.md.
    """
    ctx.meta["mpflow.debug"] = given["log_level"] == "debug"
    from mpflow.console import live as room
    from mpflow.console.live_arguments import LiveArguments

    arguments = LiveArguments(**given)
    if arguments.dry_run:
        room.show_live_plan(arguments)
    else:
        ctx.exit(room.run_live(arguments))


@cli.command(short_help="Watch a run from another shell.")
@click.argument("run", required=False, default="")
@click.option("--once", is_flag=True, help="Show it once and leave.")
@click.option("--json", "as_json", is_flag=True, help="A JSON line at each refresh.")
@click.option(
    "--interval",
    type=click.FloatRange(0.1, 3600),
    default=1.0,
    show_default=True,
    metavar="S",
    help="Seconds from one refresh to the next.",
)
def top(run: str, once: bool, as_json: bool, interval: float) -> None:
    """How a run is doing: rate, backlog, age, busy and idle ratios, batches, drops, memory.

    RUN is its id, its --name or its process id ($! of a shell); without it, the only one there is.
    `mpflow ctl` lists them. q leaves. Only runs of the same user are seen.
    """
    from mpflow.console.top import show_top

    show_top(run, as_json=as_json, once=once, interval=interval)


@cli.command(
    short_help="List runs, and steer one.", context_settings={"ignore_unknown_options": True}
)
@click.argument("run", required=False, default="")
@click.argument("action", required=False, default="")
@click.argument("words", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def ctl(run: str, action: str, words: tuple[str, ...], as_json: bool) -> None:
    """List the runs that are going on, or ask one for something.

    \b
      mpflow ctl                                list them
      mpflow ctl RUN stats                      how it is doing
      mpflow ctl RUN set detect.every 2         change an option of a stage, or max_latency
      mpflow ctl RUN skip enhance               leave a stage out; unskip takes it in again
      mpflow ctl RUN mode single|throughput|auto
      mpflow ctl RUN preview look.png           a picture of the output, as it is now
      mpflow ctl RUN stop                       end it in order

    RUN is an id, a --name or a process id ($! of a shell); alone it is `stats`. Only runs of the
    same user are seen and can be steered.
    """
    from mpflow.console import ctl as room

    if run:
        room.carry_out(run, action or "stats", words, as_json=as_json)
    else:
        room.show_runs(as_json=as_json)


@cli.command("faces", epilog=EXIT_CODES, short_help="Take the faces out of videos.")
@faces_room.faces_options
@click.pass_context
def faces_command(ctx: click.Context, /, **given: Any) -> None:
    """Take the faces out of videos: crops, a table of tracks, a picture of each person.

    \b
      frames.jsonl       the faces of every frame
      crops/             the best face of each track, aligned; more with --every
      tracks.csv         a row for each track: when, where, how large, how turned, whose
      people/            the best face of each person
      faces.json         people and tracks together, for programs
    """
    ctx.meta["mpflow.debug"] = given["log_level"] == "debug"
    ctx.exit(faces_room.run_faces(given))


@cli.command(epilog=farm_options.EXIT_CODES, short_help="Cut a video into chunks for a farm.")
@farm_options.plan_options
@click.pass_context
def plan(
    ctx: click.Context, /, file: Path | None, relative: bool, analyse: bool, **given: Any
) -> None:
    """Cut a video into chunks that many machines can make, and note everything they need.

    The configuration is resolved now, once, and written to the plan with the input, the output
    and the chunks. Standard output gets the number of chunks. Then call `mpflow render PLAN
    --chunk K` for K from 0, anywhere and in any order, and at last `mpflow concat PLAN`.
    Planning the same again changes nothing.
    """
    ctx.meta["mpflow.debug"] = given["log_level"] == "debug"
    from mpflow.console import farm
    from mpflow.console.arguments import Arguments
    from mpflow.farm.split import Split

    words = ("chunk_frames", "chunk_seconds", "chunks")
    split = Split(*(given.pop(word) for word in words))
    ctx.exit(farm.plan(Arguments(**given), split, file, relative=relative, analyse=analyse))


@cli.command(epilog=farm_options.EXIT_CODES, short_help="Make chunks of a plan.")
@farm_options.render_options
@click.pass_context
def render(ctx: click.Context, /, **given: Any) -> None:
    """Make one chunk of a plan, or some.

    A chunk that is there already is skipped, so the command may be repeated. It has its name only
    when it is whole. What the environment sets (MPFLOW_...) does not count: the plan does.
    """
    ctx.meta["mpflow.debug"] = given["log_level"] == "debug"
    from mpflow.console.rendering import RenderArguments
    from mpflow.console.rendering import render as carry_out

    ctx.exit(carry_out(RenderArguments(**given)))


@cli.command(epilog=farm_options.EXIT_CODES, short_help="Join the chunks of a plan.")
@farm_options.concat_options
@click.pass_context
def concat(
    ctx: click.Context, /, file: Path, yes: bool, keep_parts: bool, as_json: bool, **given: Any
) -> None:
    """Join the chunks of a plan, with sound and everything else from the input.

    Nothing is encoded. Missing chunks are named, with the command that makes them. Once it is
    done, repeating it changes nothing.
    """
    ctx.meta["mpflow.debug"] = given["log_level"] == "debug"
    from mpflow.console import farm

    farm.concat(file, yes=yes, keep_parts=keep_parts, as_json=as_json)


@cli.command(epilog=audit_options.EXIT_CODES, short_help="Look for faces that still show.")
@audit_options.audit_options
@click.pass_context
def audit(ctx: click.Context, /, **given: Any) -> None:
    """Whether OUT, made from IN, still shows faces: when, whose, and how it is known.

    A second detector looks at every frame of OUT, and its finds are held against the tracks of the
    faces in IN. An embedder tries to recognise those faces in OUT, and their fine detail is
    compared. See docs/audit.md for what that proves and what it does not.
    """
    ctx.meta["mpflow.debug"] = given["log_level"] == "debug"
    from mpflow.console import audit as room

    ctx.exit(room.show_audit(room.AuditArguments(**given)))


@cli.command(epilog=verify_room.EXIT_CODES, short_help="Read back what marks a video as made.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_context
def verify(ctx: click.Context, file: Path, as_json: bool) -> None:
    """What FILE says of itself: whether it was redacted, and whether faces in it were made.

    Its comment, its metadata (IPTC's digital source type, the label of GB 45438), its sidecar and
    the invisible mark in its picture are read and held against each other. See docs/provenance.md.
    """
    ctx.exit(verify_room.show_verification(file, as_json=as_json))


@cli.command(short_help="Redact two sample clips, or a video of your own.")
@click.argument("source", metavar="[INPUT]", required=False)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo"),
    show_default=True,
    help="Folder for the results.",
)
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Override any key.")
@click.option("--offline/--no-offline", default=None, help="Never use the network.")
@click.option("--log-level", type=LOG_LEVELS, help="Least level of log lines shown.")
@click.pass_context
def demo(ctx: click.Context, /, source: str | None, output: Path, **given: Any) -> None:
    """Cover the faces in two sample clips, or in INPUT, and draw before and after side by side."""
    ctx.meta["mpflow.debug"] = given["log_level"] == "debug"
    from mpflow.console.arguments import Arguments
    from mpflow.console.demo import show_demo

    ctx.exit(show_demo(source, output, Arguments(yes=True, **given)))


@cli.group()
def models() -> None:
    """Models and sample media: list, pull, verify, path, check."""


@models.command("list", short_help="What there is, and what is in the cache.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def models_list(as_json: bool) -> None:
    """Every model and sample, whether it is in the cache, and its licence."""
    from mpflow.console import models as room

    room.show_list(as_json=as_json)


@models.command("pull", short_help="Fetch models into the cache.")
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All models, but no sample media.")
@click.option("--offline", is_flag=True, envvar="MPFLOW_OFFLINE", help="Never use the network.")
def models_pull(names: tuple[str, ...], everything: bool, offline: bool) -> None:
    """Fetch models into the cache and check them; without NAMES, those that the presets use."""
    from mpflow.console import models as room

    room.pull(names, everything=everything, offline=offline)


@models.command("verify", short_help="Check the hashes of the cache.")
@click.argument("names", nargs=-1)
def models_verify(names: tuple[str, ...]) -> None:
    """Check the hashes of what is in the cache; exit status 2 if one is wrong."""
    from mpflow.console import models as room

    room.verify(names)


@models.command("path", short_help="Print where a model's file is.")
@click.argument("name")
@click.option("--offline", is_flag=True, envvar="MPFLOW_OFFLINE", help="Never use the network.")
def models_path(name: str, offline: bool) -> None:
    """Print where a model's file is, fetching it first if need be."""
    from mpflow.console import models as room

    room.show_path(name, offline=offline)


@models.command("check", short_help="Whether a model of your own fits its description.")
@click.argument("description", type=click.Path(path_type=Path))
@click.option("--picture", type=click.Path(path_type=Path), help="Look for faces in it, too.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def models_check(description: Path, picture: Path | None, as_json: bool) -> None:
    """Hold a model file against its DESCRIPTION (docs/models.md), as a run does at its start."""
    from mpflow.console import models as room

    room.check(description, picture, as_json=as_json)


@cli.group()
def presets() -> None:
    """Presets: list, show, keys."""


@presets.command("list")
def presets_list() -> None:
    """The presets that come with mpflow."""
    from mpflow.console.presets import preset_lines

    for line in preset_lines():
        click.echo(line)


@presets.command("show", short_help="A preset's values and their origins.")
@click.argument("name", default="redact", envvar="MPFLOW_PRESET")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Override any key.")
@click.option("--config", type=FILE, envvar="MPFLOW_CONFIG", help="A YAML file with keys.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def presets_show(name: str, settings: tuple[str, ...], config: Path | None, as_json: bool) -> None:
    """The resolved configuration of a preset, and where each value comes from."""
    from mpflow.console.arguments import Arguments
    from mpflow.console.presets import value_lines, values_as_data

    resolved = Arguments(preset=name, settings=settings, config=config).resolve()
    if as_json:
        click.echo(json.dumps(values_as_data(resolved), ensure_ascii=False))
    else:
        click.echo("\n".join(value_lines(resolved)))


@presets.command("keys", short_help="Every key: meaning, default, what it takes.")
@click.argument("stages", nargs=-1, metavar="[STAGE]...")
def presets_keys(stages: tuple[str, ...]) -> None:
    """Every key of the STAGEs, or of all: what it means, its default, and what it takes.

    A STAGE is detect, redact and so on, package.module:Class for one of your own, or general for
    the keys that belong to no stage. Set a key with --set, in a --config file, or by the
    environment.
    """
    from mpflow.console.keys import key_lines

    for line in key_lines(stages):
        click.echo(line)


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="As JSON lines.")
@click.pass_context
def doctor(ctx: click.Context, as_json: bool) -> None:
    """Check that this machine can run mpflow.

    Exit status 0: nothing failed; 6: a resource is short (shared memory, memory, disk); 1:
    something else failed. Warnings do not count.
    """
    from mpflow.console.doctor import show_checks

    ctx.exit(show_checks(as_json=as_json))


@cli.command(short_help="Remove what killed runs left behind, or biometric data.")
@click.option("--identities", is_flag=True, help="Remove embeddings and pictures of people.")
@click.argument("folders", nargs=-1, metavar="[DIR]...")
def clean(folders: tuple[str, ...], identities: bool) -> None:
    """Remove what killed runs left: shared-memory segments, half-fetched models.

    What a living process uses is left alone, and so are NAME.partial.EXT files.

    With --identities, remove what `mpflow faces` wrote in and below each DIR of who people are
    instead: embeddings, and pictures of people. Crops and tables stay.
    """
    from mpflow.console import clean as room

    if identities or folders:
        room.clean_identities(folders, asked=identities)
    else:
        room.show_clean()


def main() -> None:
    """The entry point of the ``mpflow`` command."""
    hide_credentials_in_title()
    cli.main(prog_name="mpflow")


if __name__ == "__main__":
    main()
