"""Opening an output: its picture stream set up as the chunks will be coded, the others added.

Everything that cannot be had is found out here, before the first frame: as an error where it was
asked for, as a warning where it is a loss. Nothing is written before ``Opened.start``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import av
from av.container import OutputContainer
from av.video.stream import VideoStream

from mpflow.media.copy import StreamCopy
from mpflow.media.declaration import SILENT, Declaration, declare
from mpflow.media.encoder import Settings
from mpflow.media.muxer import FRAGMENTED, Fragments, open_muxer, set_muxer_options
from mpflow.media.output import OutputFile, explain_write
from mpflow.media.ranges import Span
from mpflow.media.recipe import Recipe, find_recipe
from mpflow.media.request import Keep
from mpflow.media.tags import add_comment
from mpflow.spec import MediaInfo


@dataclass(slots=True)
class Opened:
    """An output that is set up: its muxer, its picture's stream, and what is copied beside it.

    The stream has an encoder only so that the file's header is the one that the chunks go with;
    no picture goes through it. ``origin`` is the picture's time stamp that becomes 0. ``said`` is
    what the whole file has to say.
    """

    container: OutputContainer
    stream: VideoStream
    copy: StreamCopy
    recipe: Recipe
    origin: int = 0
    said: Declaration = SILENT

    @property
    def header(self) -> bytes:
        """The encoder's header."""
        return bytes(self.stream.codec_context.extradata or b"")

    def start(self, file: OutputFile) -> None:
        """Write the file's header; raises what a failed write means."""
        try:
            self.container.start_encoding()
        except (OSError, av.FFmpegError) as error:
            raise explain_write(file, error) from error


class Opening:
    """Sets one output up for one input; ``say`` takes the warnings."""

    def __init__(
        self, media: MediaInfo, settings: Settings, keep: Keep, say: Callable[[str], None]
    ) -> None:
        self._media = media
        self._settings = settings
        self._keep = keep
        self._say = say

    def recipe(self, file: OutputFile, source: str) -> Recipe:
        """Only find out how the pictures of ``source`` are coded for the file."""
        container = open_muxer(file)
        recipe = find_recipe(source, self._media, self._settings, container, self._say)
        recipe.add_picture(container)
        return recipe

    def open(
        self, file: OutputFile, source: str, span: Span | None = None, *, growing: bool
    ) -> Opened:
        """Set everything up but write nothing.

        ``source`` is the input that is copied from: all of it, or a ``span`` moved to time 0. A
        ``growing`` file is to play when the run is killed; the others are written in one go.
        """
        container = open_muxer(file)
        growing = growing and container.format.name in FRAGMENTED
        copy = StreamCopy(
            source,
            self._media.video.index,
            keep_streams=self._keep.streams,
            keep_metadata=self._keep.metadata,
            warn=self._say,
            span=span,
            text=not growing,  # the muxer aborts on text that lies across its fragments
        )
        try:
            recipe = find_recipe(source, self._media, self._settings, container, self._say)
            stream = copy.add_to(container, lambda: recipe.add_picture(container))
            add_comment(container.metadata, self._keep.note)
            name, said = container.format.name, self._keep.said
            declare(container.metadata, said, name, self._say, is_sealed=True)
            set_muxer_options(
                container,
                [recipe.shape.time_base, *copy.time_bases()],
                anonymous=not self._keep.metadata,
                metadata_keys=copy.needs_metadata_keys(container),
                fragments=_fragments(copy) if growing else Fragments.NONE,
            )
            if copy.has_cover and growing:
                self._say("with cover art in it, nothing of the file plays if the run is killed")
            stream.codec_context.open(strict=False)
        except BaseException as error:
            copy.close()
            if isinstance(error, OSError | av.FFmpegError):
                raise explain_write(file, error) from error
            raise
        origin = round(span[0] / recipe.shape.time_base) if span else 0
        return Opened(container, stream, copy, recipe, origin, said)


def _fragments(copy: StreamCopy) -> Fragments:
    if copy.has_cover:
        return Fragments.NONE
    return Fragments.HEADER_FIRST if copy.has_late_track() else Fragments.EXACT
