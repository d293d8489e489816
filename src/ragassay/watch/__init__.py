"""Traffic under watch: received rows are sampled and judged within a budget, their rates told with
bands, and alerts raised whose chance of being false is stated.
"""
