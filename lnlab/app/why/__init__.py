"""Tracing: from a number on a page back to rows, runs and settings, and from a run to how and why it ended."""
