"""Judges that are composed of others: panels, cascades, cross-checks and routes by rubric."""
