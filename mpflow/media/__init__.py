"""Files at both ends of the pipeline, through PyAV: looking at an input, reading its pictures,
writing the output with every other stream copied beside them.

    probe -> MediaInfo          reader -> av.VideoFrame ... -> ring
    ring -> writer: coder (an encoder for each chunk) -> parts -> assembly -> NAME.EXT
                                            copy (packets of the other streams) ---^

Nothing is imported here: what only counts chunks needs no FFmpeg.
"""
