"""Another face in a face's place: sources, swappers, and how what they make is laid over."""
