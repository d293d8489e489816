"""The gates that a proposed question has to pass, each with its verdict and a rationale."""
