"""Model folders, and the embedding model that retrievers, rerankers and encoders share."""
