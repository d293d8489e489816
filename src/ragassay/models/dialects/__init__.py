"""The dialects of providers: the request that each wants, and the replies that each gives.

A module has `url`, `body` and `read`; `read_answer` recognizes a reply by its form and not by who
sent it, since gateways pass on what the servers behind them say.
"""
