"""The judge over a model of the user's own that runs here: a classifier, no language model."""
