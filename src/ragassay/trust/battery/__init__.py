"""The attack battery: rows changed with a known answer, attacks, and the figures over them."""
