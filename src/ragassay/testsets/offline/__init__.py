"""The offline writer: questions made of sentences by rules, without a model and without a key."""
