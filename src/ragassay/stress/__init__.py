"""Stress tests of the user's system: noise, unanswerable questions, false passages, several
sources.

One question is put to the system at many levels, and what changes is a paired difference.
"""
