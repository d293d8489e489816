"""Providers of models: one module each, whose name is the scheme of its URIs.

A provider is added by a module here. It has `open_model(name, *, base_url, api_key_env, rate,
concurrency) -> Model`, and `open_batch_model`, likewise, where the provider has a batch API; or,
for models that run here, `open_local_model(name, *, no_network) -> Model`. It is
imported when one of its models is connected, and imports its client no earlier than that.
"""
