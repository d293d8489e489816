"""The flow of judges over models that answer match calls: the offline model, local models."""
