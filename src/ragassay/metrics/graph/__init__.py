"""The claim graph of a row: claims, statements and chunks, and which of them support which."""
