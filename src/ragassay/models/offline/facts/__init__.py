"""The reader of facts: what a text says of numbers, dates, names and polarity, beside passages."""
