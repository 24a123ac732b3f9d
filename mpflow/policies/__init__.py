"""Policies: pure functions of a snapshot and a clock."""
