"""More frames than test_live_model.py has: by itself, as it takes as long as many others."""

from __future__ import annotations

import pytest
from live_model import LiveModel, LiveWalk
from ring_model import explore

LONGER = {
    "three frames, shed and dropped": LiveModel(sheds=1, drops=1),
    "three frames, two kills of anyone": LiveModel(stages=(1,), kills=2, sheds=1, drops=1),
}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("model", LONGER.values(), ids=LONGER)
def test_the_same_holds_for_more_frames(model: LiveModel) -> None:
    result = explore(model, walk=LiveWalk)
    assert not result.fault, result.told
