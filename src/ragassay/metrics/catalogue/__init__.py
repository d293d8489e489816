"""The metrics: one small file each. A file with a MetricBase in it is in the catalogue by itself."""
