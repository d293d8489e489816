"""How easily is a judge led astray? Rows changed with a known answer, attacks, and the figures over
them.
"""
