"""The writer and the checker over language models: what they are asked, and how replies
are read.
"""
