"""Rules on texts that need no model: abstentions, empty answers, sentences, the form of a request."""
