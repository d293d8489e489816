"""Measurements of judges: benchmarks against people, labelling, composed judges, and the attack
battery, each from files and runs to a value.
"""
