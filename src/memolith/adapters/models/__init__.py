"""Chat models, embedders and rerankers."""
