"""Traces that applications send: the endpoint that takes them (OTLP over HTTP), the job that makes
rows of them, and those rows as a source to evaluate.
"""
