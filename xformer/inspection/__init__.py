"""What a configuration amounts to, without training it."""
