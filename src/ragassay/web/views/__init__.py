"""The views: each module answers for one kind of page."""
