"""The judge over an offline model, which reads no instructions and needs no network."""
