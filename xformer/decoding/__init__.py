"""From a trained model and source lines to translations: search, sampling, likelihood, alignment."""
