"""What the operations of the API answer, a module for each kind of thing."""
