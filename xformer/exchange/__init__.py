"""Trained models in formats that other programs read, and models of other programs as run folders."""
