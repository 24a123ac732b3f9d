"""Who is who: the gallery of reference photos, and what is known of each track.

    folder of photos -> photos (one usable face each) -> Gallery -> similarities of an embedding
    faces of a frame -> Following (doubts, looks, marks) -> Waiting (what later frames say) -> marks

Nothing here is ever written: embeddings are biometric data, and live in one worker's memory only.
"""
