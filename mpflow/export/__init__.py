"""Faces taken out of a video: crops, a table of tracks, and a picture of each person.

    frames.jsonl          a line for each frame; all else is made of these lines and the crops
    crops/                aligned faces: the best of each track, and one every so often if wanted
    tracks.csv|.parquet   a row for each track
    people/               the best face of each person
    faces.json            people and tracks together, for programs
    embeddings.npz        only if asked for

    lines.py    a frame's line              crops.py     crops on the disk
    book.py     what is known of tracks     people.py    which tracks are one person
    tables.py   the table of tracks         identities.py   embeddings, and removing them

Whoever reads the lines again knows all that was known when they were written.
"""
