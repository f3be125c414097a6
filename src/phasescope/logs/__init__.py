"""Logs of training that phasescope did not run: read as evidence, and written as a loop of one's own trains."""
