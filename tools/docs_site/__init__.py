"""The documentation as a site: the Markdown of docs/ with a page for each metric, judge and error,
built by Zensical into plain files that ask nothing of the network.
"""
