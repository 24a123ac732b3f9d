"""Who is who from frame to frame: finds of a detector become tracks, and tracks cover their gaps.

finds     what the detector found on a frame, as it is remembered
motion    where a face will be
matching  which find is which track's
tracks    the forward pass: finds in, the number of a track for each of them out
filling   where the faces of a track are on a frame, seen there or not
"""
