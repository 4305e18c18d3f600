"""From updates to trained weights: objective, optimizer, schedule, ranks, checkpoints and the books."""
