"""The metrics, one small file each; the file of a MetricBase of its name is in the catalogue."""
