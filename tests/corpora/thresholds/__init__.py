"""Labelled texts, and the fit of an embedder's similarity thresholds."""
