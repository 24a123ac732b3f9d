"""Shipped presets, one YAML file each."""
