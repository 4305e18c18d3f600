"""The panels of a report as a dashboard of Weights & Biases."""
