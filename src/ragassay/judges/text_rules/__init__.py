"""Rules on texts that need no model: abstentions, empty answers, sentences, forms of a request."""
