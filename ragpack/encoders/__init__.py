"""Encoders: models that compare a claim with a text. The only part of `diagnose` that needs more than the record.

`open_…(model) -> Encoder` finds a model by folder or hub id and fingerprints it; it is loaded when the first pair
comes.
"""

ENCODERS = {
    "semantic": "ragpack.encoders.semantic:open_semantic",
    "entail": "ragpack.encoders.entail:open_entail",
}
