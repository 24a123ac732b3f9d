"""Stages: one file each; they import the contract (mpflow.stage), never each other."""
