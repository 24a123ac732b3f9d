"""Files at both ends of the pipeline, through PyAV: looking at an input, reading its pictures,
writing the output with every other stream copied beside them.

    probe -> MediaInfo          reader -> av.VideoFrame ... -> ring
    ring -> writer (encoder) -> muxer <- copy (packets of the other streams)
"""

from mpflow.media.probe import probe
from mpflow.media.reader import VideoReader
from mpflow.media.salvage import playable

__all__ = ["probe", "VideoReader", "playable"]
