"""Look at a description of any kind and its file without a run: do they fit?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from mpflow.models.checking import Checked
from mpflow.models.checking import check as check_others
from mpflow.models.description import is_description, read_mapping
from mpflow.models.fetch import sha256_of
from mpflow.models.store import ModelStore


def check(path: Path, picture: Path | None = None) -> Checked:
    """Load the model that ``path`` describes on the processor; an INSwapper file needs no
    description. ``picture`` is for detectors.

    Raises ConfigError for a wrong description, ModelError for a file that does not fit it,
    InputError for a picture that cannot be read.
    """
    if not is_description(path.name):
        return _check_swapper(path)
    described = read_mapping(path)
    for key, look in _KINDS.items():
        if key in described:
            return look(path)
    return check_others(path, picture)


def _check_swapper(path: Path) -> Checked:
    from mpflow.swapping.described import open_swapper

    swapper, _ = open_swapper(path, ModelStore(), device="cpu")
    network, (template, side) = swapper.network, swapper.photo
    kind = (
        f"swapper, {swapper.described.swapper}, template {swapper.template}, source by {template} "
        f"in {side} pixels"
    )
    names = {role: list(each) for role, each in network.network.names.items()}
    others = {role: [str(file)] for role, file in swapper.files.items() if role != "swapper"}
    file, size = swapper.files["swapper"], (network.side, network.side)
    batches = not network.network.single
    return Checked(kind, file, sha256_of(file), size, batches, {**names, **others})


def _check_enhancer(path: Path) -> Checked:
    from mpflow.swapping.enhancers import load_enhancer, open_enhancer

    model, _ = open_enhancer(str(path), ModelStore(), device="cpu", most=2)
    described = load_enhancer(path)
    grows = f", enlarges by {model.times}" if model.times > 1 else ""
    kind = f"enhancer, {described.__struct_config__.tag}, template {model.template}{grows}"
    file, network = described.found(path), model.network.network
    names = {role: list(each) for role, each in network.names.items()}
    return Checked(kind, file, sha256_of(file), (model.side,) * 2, not network.single, names)


def _check_mask(path: Path) -> Checked:
    from mpflow.models.sessions import open_session
    from mpflow.models.sockets import Origin
    from mpflow.swapping.maskfile import MaskNetwork, load_masking

    described = load_masking(path)
    file = described.found(path)
    network = MaskNetwork(open_session(file, device="cpu")[0], described, Origin(path, file))
    kind = f"mask network, {described.__struct_config__.tag}, template {described.template}"
    size = (described.input.side,) * 2
    outputs = {"mask": [network.output]}
    return Checked(kind, file, sha256_of(file), size, not network.single, outputs)


_KINDS: Mapping[str, Callable[[Path], Checked]] = {
    "swapper": _check_swapper,
    "enhancer": _check_enhancer,
    "mask": _check_mask,
}
"""By the key that says of which kind a description is."""
