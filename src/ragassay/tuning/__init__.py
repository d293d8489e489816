"""Optimise a judge: find where it errs, propose changes of its rubric, certify the gain.

A change is made only where rows that the search never saw certify that it helps.
"""
