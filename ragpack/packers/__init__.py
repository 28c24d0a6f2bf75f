"""Packers: which candidates go into the context, under a budget of reader tokens.

A packer is a plain function `(problem, budget, *, options) -> Selection`. Its keyword-only parameters are its
options; its docstring is its help. To add one: one file, one line here, and the property tests pick it up.
"""

PACKERS: dict[str, str] = {
    "topk": "ragpack.packers.topk:topk",
    "packed": "ragpack.packers.packed:packed",
    "focused": "ragpack.packers.focused:focused",
    "mmr": "ragpack.packers.mmr:mmr",
    "submod": "ragpack.packers.submod:submod",
    "bridge": "ragpack.packers.bridge:bridge",
    "igp": "ragpack.packers.igp:igp",
    "gold": "ragpack.packers.ceilings:gold",
    "answer": "ragpack.packers.ceilings:answer",
    "draw": "ragpack.packers.draw:draw",
}
