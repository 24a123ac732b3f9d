"""What was found in a video, in words: faces, and where it is known their tracks and people."""

from __future__ import annotations

from mpflow.report import Report


def counted(count: int, noun: str) -> str:
    """``1 frame``, ``2 frames``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def face_words(report: Report) -> str:
    """``120 faces in 40 of them: 3 tracks of 2 people``; of a stream also in frames that were not
    delivered."""
    faces, frames = counted(report.faces, "face"), report.frames_with_faces
    if report.live:
        return f"{faces} found in {counted(frames, 'frame')}"
    return f"{faces} in {frames} of them{_tracks(report)}"


def _tracks(report: Report) -> str:
    """How many tracks and people they are, where the last stage has told."""
    facts = report.stages[-1].facts if report.stages else {}
    if "tracks" not in facts:
        return ""
    people = facts.get("people")
    whose = f" of {people} {'person' if people == 1 else 'people'}" if people else ""
    return f": {counted(facts['tracks'], 'track')}{whose}"
