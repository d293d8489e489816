"""Providers of hosted models and kinds of servers: one module each, whose name is the scheme of its
URIs.

A provider is added by a module here. Its PROVIDER says as data where it is, what its key is called,
which dialect it speaks and what its models accept; what a model turns out not to accept is learnt.
It is imported when one of its models is connected.
"""
