"""Attention maps of one sentence pair: caught from a trained model, written as picture, page or data."""
