"""Three invented texts that compressors are tried on, as documents."""

from ragpack.candidates.snippet import Document

TEXTS = [
    "Ostra Bridge crosses the Lisk. It was built by Ida Vale in 1901, at a cost of 41,500 marks.",
    "A tern is a bird; the tern (or 'sea-swallow') eats fish. It is seen on the Lisk from May to August.",
    "The Lisk is 41.5 km long! It rises near Ostra, and the U.S. Army mapped it in 1944.",
]
QUESTION = "Who built the bridge that crosses the Lisk?"


def documents(*texts, title="Ostra"):
    return [Document(str(at), title, text, at, []) for at, text in enumerate(texts, 1)]
