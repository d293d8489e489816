"""Applications of five frameworks, to be run on rows with `app=`."""
