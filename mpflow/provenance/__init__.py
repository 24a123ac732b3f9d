"""Saying that a video was made: tags, an invisible mark, a label, and reading them back."""
