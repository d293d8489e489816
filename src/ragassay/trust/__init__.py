"""How far can a judge be believed: labels, benchmarks against people, certificates, and attacks on
the judge.
"""
