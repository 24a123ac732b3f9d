"""Hold a described model against its file, before any frame.

    session -> its input: float32, NCHW, three channels, sides as described?
            -> a black picture through it: does it run, for two at once too?
            -> outputs by name or shape: a layout of the make?    -> Network.run(tensor)

Whatever does not fit is a ModelError that names both the file and the key of the description.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mpflow.models.detections import Floats
from mpflow.models.makes import Layout, Shape
from mpflow.models.sockets import Origin, Others, Socket

_NONE: Mapping[str, Any] = {}
_NO_OTHERS = Others()


class Network:
    """A session whose outputs are known by role: their ``names``; see ``fit``.

    ``single`` is one that is fed one picture at a time.
    """

    def __init__(
        self,
        session: Any,
        socket: Socket,
        names: Mapping[str, Sequence[str]],
        layout: Layout,
        fixed: Mapping[str, Any] = _NONE,
    ) -> None:
        self.names = names
        self._fixed = fixed
        self.single = socket.single
        self._session = session
        self._socket = socket
        self._names = [name for role in names.values() for name in role]
        self._roles = [role for role, named in names.items() for _ in named]
        self._ranks = [len(shape) for role in names for shape in layout[role]]

    def run(self, tensor: Floats, each: Mapping[str, Floats] = _NONE) -> dict[str, list[Floats]]:
        """Outputs [n, *shape] by role for pictures [n, 3, h, w], and what else belongs to each of
        them [n, *shape], by the name of its input."""
        step = 1 if self.single else len(tensor)
        parts = [slice(first, first + step) for first in range(0, len(tensor), step)]
        calls = [
            self._call({self._socket.name: tensor[part], **{k: v[part] for k, v in each.items()}})
            for part in parts
        ]
        outputs: dict[str, list[Floats]] = {role: [] for role in self._roles}
        for role, values in zip(self._roles, zip(*calls, strict=True), strict=True):
            outputs[role].append(values[0] if len(values) == 1 else np.concatenate(values))
        return outputs

    def _call(self, given: Mapping[str, Floats]) -> list[Floats]:
        """One call; an output that leaves out the batch of one gets it back.

        Raises FloatingPointError for NaN, which is no score at all: its face would be missed.
        """
        values = self._session.run(self._names, {**given, **self._fixed})
        for name, value in zip(self._names, values, strict=True):
            if np.isnan(value).any():
                raise FloatingPointError(
                    f"the network's output {name} has values that are no numbers"
                )
        return [
            value[None] if value.ndim == rank else value
            for value, rank in zip(values, self._ranks, strict=True)
        ]


def for_channels(values: tuple[float, float, float]) -> Floats:
    """A value for each channel [1, 3, 1, 1], to reckon with pictures [n, 3, h, w]."""
    return np.array(values, np.float32).reshape(1, 3, 1, 1)


def fit(  # noqa: PLR0913 - what is held against what
    session: Any,
    socket: Socket,
    origin: Origin,
    *,
    sides: tuple[int, int],
    layouts: Sequence[Layout],
    names: Mapping[str, Sequence[str]],
    most: int = 2,
    others: Others = _NO_OTHERS,
) -> Network:
    """Run a black picture of ``sides`` (width, height) and find each output's role.

    Where at ``most`` one picture will come at a time, no batch is tried: a runtime may build an
    engine for it, which takes minutes.
    ``names`` are those that are known; other roles are found by shape. Raises ModelError if it
    does not run, or gives nothing that is laid out in one of ``layouts``.
    """
    known = [each.name for each in session.get_outputs()]
    _check_names(names, known, {role for layout in layouts for role in layout}, origin)
    socket = replace(socket, single=socket.single or most < 2)
    values, single = _tried(session, socket, sides, origin, others)
    shapes = {name: value.shape for name, value in zip(known, values, strict=True)}
    socket = replace(socket, single=single)
    for layout in (each for each in layouts if names.keys() <= each.keys()):
        found = _roles(layout, names, shapes, single=single)
        if found is not None:
            _check_spare(found, names, known, origin)
            return Network(session, socket, found, layout, others.fixed)
    raise origin.error(_what_is_missing(layouts, names, shapes, sides), _CURE)


def _check_names(
    names: Mapping[str, Sequence[str]], known: Sequence[str], roles: Collection[str], origin: Origin
) -> None:
    """Raise ModelError for a role or an output that there is none of."""
    for role, wanted in names.items():
        if role not in roles:
            what = f"outputs.{role} is none of this make's; known: {', '.join(sorted(roles))}"
            raise origin.error(what, "correct outputs")
        for name in wanted:
            if name not in known:
                what = f"it has no output {name!r}; it has: {', '.join(known)}"
                raise origin.error(what, f"correct outputs.{role}")


def _check_spare(
    found: Mapping[str, Sequence[str]],
    names: Mapping[str, Sequence[str]],
    known: Sequence[str],
    origin: Origin,
) -> None:
    """Raise ModelError for outputs that nobody would look at: a grid left out misses faces.

    A file that gives everything in one output may give other things beside it, and so may one
    whose outputs are all named.
    """
    used = [name for each in found.values() for name in each]
    spare = [name for name in known if name not in used]
    if spare and len(used) > 1 and not names.keys() >= found.keys():
        raise origin.error(
            f"nothing is known of its outputs {', '.join(spare)}",
            "describe all its strides, or name every role in outputs",
        )


_CURE = (
    "correct decoder, strides, anchors or input.size; or, where several outputs have one shape, "
    "name them in outputs"
)


def _tried(
    session: Any, socket: Socket, sides: tuple[int, int], origin: Origin, others: Others
) -> tuple[list[Floats], bool]:
    """The outputs for a black picture, and whether it takes one at a time only.

    A file that says it takes any number may have been exported with a reshape to one.
    """
    width, height = sides
    one = {socket.name: np.zeros((1, 3, height, width), np.float32), **others.each}
    if not socket.single:
        two = {name: np.repeat(value, 2, axis=0) for name, value in one.items()}
        try:
            values = session.run(None, {**two, **others.fixed})
        except Exception:  # noqa: BLE001 - onnxruntime has no error of its own; one is tried next
            values = []
        if values and all(value.ndim and len(value) == 2 for value in values):
            return values, False
    try:
        return session.run(None, {**one, **others.fixed}), True
    except Exception as error:
        raise origin.error(
            f"it does not run on a picture of {width}x{height}: {str(error).splitlines()[0]}",
            "correct input.size and input.multiple",
        ) from error


def _roles(
    layout: Layout, names: Mapping[str, Sequence[str]], shapes: Mapping[str, Shape], *, single: bool
) -> dict[str, list[str]] | None:
    """The outputs of each role, if the file has this layout and no doubt is left."""
    found = {}
    for role, wanted in layout.items():
        fits = [
            [name for name, has in shapes.items() if _is_shape(has, shape, single=single)]
            for shape in wanted
        ]
        chosen = list(names.get(role, ()))
        if chosen:
            if len(chosen) != len(fits):
                return None
            fits = [[name] if name in each else [] for name, each in zip(chosen, fits, strict=True)]
        if any(len(each) != 1 for each in fits):
            return None
        found[role] = [name for (name,) in fits]
    return found


def _is_shape(has: Shape, shape: Shape, *, single: bool) -> bool:
    """Whether an output has this shape for each picture; one picture's may leave out the batch."""
    return has == ((1 if single else 2), *shape) or (single and has == shape)


def _what_is_missing(
    layouts: Sequence[Layout],
    names: Mapping[str, Sequence[str]],
    shapes: Mapping[str, Shape],
    sides: tuple[int, int],
) -> str:
    """What was looked for, and what is there."""
    looked = " or ".join(
        ", ".join(
            f"{role} {' '.join(str(list(shape)) for shape in wanted)}"
            for role, wanted in layout.items()
        )
        for layout in layouts
    )
    there = ", ".join(f"{name} {list(shape)}" for name, shape in shapes.items())
    named = "".join(f"; {role} is said to be {', '.join(each)}" for role, each in names.items())
    width, height = sides
    return f"for a picture of {width}x{height} it should give {looked}; it gives {there}{named}"
