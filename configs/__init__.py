"""Presets and the model manifest, as package data."""
