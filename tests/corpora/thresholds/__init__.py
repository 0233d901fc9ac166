"""Labelled texts, and the thresholds that an embedder needs to tell them apart."""
