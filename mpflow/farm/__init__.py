"""Making one video on many machines: what a farm manager calls, in three steps.

    plan     probe, count frames, resolve the configuration  ->  plan.json and the parts' checkpoint
    render   one chunk, or some of them: an ordinary supervised run over a range of frames
    concat   all chunks by packet copy, sound and the rest from the input  ->  the output

    numbers.py   ``0-3,7`` as people write it       split.py    frames -> chunks
    plan.py      the plan as a file                 draw.py     an input -> a plan
    choose.py    which chunks are asked for         render.py   chunks -> jobs
    concat.py    chunks -> the output               folder.py   what lies beside the chunks
    books.py     what became of every frame         sink.py     the plan's encoder, in this process
    differ.py    two plans -> what differs          check.py    chunks -> those that are damaged

What is durable is skipped, so every step can be repeated, by any machine, at any time.
"""
