"""Test sets from documents: questions with references and evidence, each checked by gates.

A plan says how many questions of which type each cluster of documents gets; a writer (templates
offline, or a language model) proposes them, gates keep those that hold, and what falls short is
named.
"""
