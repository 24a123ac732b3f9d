"""Who is who from frame to frame: finds of a detector become tracks, and tracks cover their gaps.

finds     what the detector found on a frame, as it is remembered
motion    where a face will be
matching  which find is which track's
tracks    the forward pass: finds in, the number of a track for each of them out
filling   where the face of a track is on a frame without a find of it
smoothing where it is on a frame with one, the detector's trembling taken out
follower  frame after frame through all of that
"""
