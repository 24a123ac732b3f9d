"""Whoever asks for a picture of the output gets that one, whoever else asks, or is told why not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mpflow.channel import Channel
from mpflow.errors import ConfigError
from mpflow.helmsman import MOST_PICTURES, Helmsman
from mpflow.orders import Orders
from mpflow.requests import Answer, Failure, Preview


class Owner:
    """Asks, and keeps what is answered; stands for the run at hand too."""

    def __init__(self) -> None:
        self.answers: dict[str, list[str]] = {}
        self.sent: list[str] = []
        sink = SimpleNamespace(tell=lambda kind, path: self.sent.append(path))
        machine = SimpleNamespace(is_in=lambda *states: True)
        job = SimpleNamespace(preview="", live=True)
        self.run: Any = SimpleNamespace(machine=machine, sink=sink, job=job)
        steering: Any = SimpleNamespace(wheel=None, say=None)
        self.helmsman = Helmsman(steering, lambda: self.run)

    def ask(self, who: str, path: str) -> None:
        answers = self.answers.setdefault(who, [])

        def reply(answer: Answer | Failure) -> None:
            answers.append(answer.path if isinstance(answer, Answer) else answer.error["what"])

        self.helmsman.steer(Preview(path), reply)

    def written(self, path: str, error: str = "") -> None:
        self.helmsman.previewed({"path": path, "frame": 7, "error": error})


@pytest.fixture
def owner() -> Owner:
    return Owner()


def test_each_request_is_answered_with_its_own_picture(owner: Owner) -> None:
    owner.ask("a", "/tmp/a.png")
    owner.ask("b", "/tmp/b.png")
    owner.ask("c", "/tmp/a.png")
    owner.written("/tmp/a.png")
    assert owner.answers == {"a": ["/tmp/a.png"], "b": [], "c": ["/tmp/a.png"]}
    owner.written("/tmp/b.png", error="the disk is full")
    owner.written("/tmp/b.png")
    assert owner.answers["b"] == ["the disk is full"]


def test_a_last_stage_that_replaces_another_is_asked_again(owner: Owner) -> None:
    owner.ask("a", "/tmp/a.png")
    owner.ask("b", "/tmp/b.png")
    owner.written("/tmp/a.png")
    owner.sent.clear()
    owner.helmsman.sink_begun(owner.run)
    assert owner.sent == ["/tmp/b.png"]


def test_at_the_end_of_a_job_everybody_who_waits_is_told(owner: Owner) -> None:
    owner.ask("a", "/tmp/a.png")
    owner.ask("b", "/tmp/b.png")
    owner.helmsman.job_over()
    owner.helmsman.job_over()
    assert set(owner.answers["a"] + owner.answers["b"]) == {
        "the run ended before another frame came"
    }


def test_not_more_than_so_many_may_wait(owner: Owner) -> None:
    for number in range(MOST_PICTURES):
        owner.ask("a", f"/tmp/{number % 3}.png")
    with pytest.raises(ConfigError, match="16 requests for a picture wait already"):
        owner.ask("a", "/tmp/x.png")
    owner.written("/tmp/0.png")
    owner.ask("a", "/tmp/x.png")


def test_the_last_stage_keeps_every_picture_that_it_is_asked_for() -> None:
    ours, theirs = Channel.pair()
    with ours, theirs:
        orders = Orders(theirs)
        for path in ("/tmp/a.png", "/tmp/b.png", "/tmp/a.png"):
            ours.send("preview", path=path)
        orders.read()
        assert orders.previews == ["/tmp/a.png", "/tmp/b.png"]
