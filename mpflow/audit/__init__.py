"""Whether an output still shows faces: a second detector over it, held against the input's tracks.

    input   decode -> detect -> track  --+
                                         +-- paired by time -> evidence -> verdicts -> findings
    output  decode -> detect (another) --+                                 -> report, sheet

Both run as pipelines of their own, and what they give is compared here, frame by frame. Nothing
that is learnt of a face outlives the audit but a number: how alike two pictures of it are.
"""
