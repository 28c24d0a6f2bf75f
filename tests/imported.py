"""Entries of published datasets in their own layouts. Facts are invented."""

MUSIQUE = {
    "id": "2hop__1_2",
    "paragraphs": [
        {"idx": 0, "title": "Lisk", "paragraph_text": "The Lisk is a river.", "is_supporting": False},
        {"idx": 1, "title": "Lisk", "paragraph_text": "It ends in Ostra.", "is_supporting": True},
        {"idx": 2, "title": "Ostra", "paragraph_text": "Ida Vale built Ostra.", "is_supporting": True},
    ],
    "question": "Who built the town where the Lisk ends?",
    "question_decomposition": [{"id": 1, "question": "Lisk >> end"}, {"id": 2, "question": "who built #1"}],
    "answer": "Ida Vale",
    "answer_aliases": ["Vale", "Ida Vale"],
    "answerable": True,
}
BARE = {
    "id": "w1",
    "question_type": "compositional",
    "question": "Who built the town where the Lisk ends?",
    "answer": "Ida Vale",
    "evidence": [["Lisk", "mouth", "Ostra"], ["Ostra", "builder", "Ida Vale"]],
}
RELEASE = {
    "_id": "w2",
    "type": "bridge_comparison",
    "question": "?",
    "answer": "yes",
    "context": [["Lisk", ["The Lisk is a river.", "It ends in Ostra.", ""]], ["Ostra", [" A town."]]],
    "supporting_facts": [["Lisk", 1], ["Ostra", 0]],
    "evidences": [["Lisk", "mouth", "Ostra"]],
}
NQ = {
    "question": "who built ostra",
    "answers": ["Ida Vale"],
    "ctxs": [
        {"title": "Ostra", "text": "A town.", "hasanswer": False, "isgold": False},
        {"title": "Ostra", "text": "Ida Vale built it.", "hasanswer": True, "isgold": True},
    ],
    "nq_annotated_gold": {"title": "Ostra"},
}
POPQA = {
    "id": 3,
    "prop": "mouth",
    "s_pop": 5,
    "o_pop": 7,
    "question": "Where does the Lisk end?",
    "possible_answers": '["Ostra", "Ostra Town"]',
    "paragraphs": [{"title": "Lisk", "text": "A river.", "is_supporting": True}],
}
DPR = {
    "id": "t1",
    "question": "who built ostra",
    "answers": ["Ida Vale"],
    "ctxs": [
        {"title": "Ostra", "text": "Ida Vale built it.", "has_answer": True, "score": "81.5"},
        {"title": "Ostra", "text": "A town.", "has_answer": False},
        {"id": "p9", "title": "", "text": "No title."},
    ],
}
OSTRA = "The Ostra Bridge crosses the Lisk. It was built by Ida Vale."
LISK = "The Lisk is a river."
SQUAD = {
    "version": "1.1",
    "data": [
        {
            "title": "Ostra_Bridge",
            "paragraphs": [
                {
                    "context": OSTRA,
                    "qas": [
                        {"id": "s1", "question": "Who built it?", "answers": [{"text": "Ida Vale"}] * 2},
                        {"id": "s2", "question": "What does it cross?", "answers": [{"text": "the Lisk"}]},
                    ],
                },
                {"context": "Nobody asked.", "qas": []},
                {"context": LISK, "qas": [{"id": "s3", "question": "Why?", "is_impossible": True, "answers": []}]},
            ],
        }
    ],
}  # fmt: skip
COVID = {
    "data": [
        {
            "paragraphs": [
                {
                    "context": OSTRA,
                    "document_id": 630,
                    "qas": [{"id": 262, "question": "Who?", "answers": [{"text": "Ida Vale", "answer_start": 50}]}],
                }
            ]
        }
    ]
}
PARAGRAPHS = {
    "version": "1",
    "data": [
        {"id": f"p{at}", "title": "Bridges", "context": text, "question": "Who?", "answers": [{"text": "Ida Vale"}]}
        for at, text in enumerate((OSTRA, LISK, OSTRA))
    ],
}
EXPERT = {
    "question": "Who built the Ostra Bridge?",
    "annotator_id": "a",
    "metadata": {"field": "Bridges"},
    "answers": {
        "some_system": {
            "answer_string": "Ida Vale [1].",
            "revised_answer_string": "Ida Vale built it.",
            "claims": [
                {"claim_string": "…", "evidence": ["[1] http://x/a\n\nIda Vale built it."], "support": "Complete"},
                {"claim_string": "…", "evidence": ["[1] http://x/a\n\nIda Vale built it.", "[2] http://x/a\n\nOther."],
                 "support": "Incomplete"},
                {"claim_string": "…", "evidence": ["[3] http://x/b"], "support": "Complete"},
                {"claim_string": "…", "evidence": [], "support": "Missing"},
            ],
        }
    },
}  # fmt: skip
RAGBENCH = {
    "id": "r1",
    "question": "Who built the Ostra Bridge?",
    "documents": ["Title: Ostra\nThe Lisk is a river.  It ends here.", "It was built by Ida Vale."],
    "response": "Ida Vale did.",
    "generation_model_name": "some-model",
    "documents_sentences": [
        [["0a", "Title: Ostra"], ["0b", "The Lisk is a river."], ["0c", "It ends  here."]],
        [["1a", "It was built by Ida Vale."]],
    ],
    "all_relevant_sentence_keys": ["1a", "0c.", "1a", "7z"],
    "adherence_score": True,
}
FLASHRAG = {"id": "f1", "question": "Who built it?", "golden_answers": ["Ida Vale"], "metadata": {"prop": "builder"}}
RESULT = {**FLASHRAG, "output": {"retrieval_result": [{"id": "7", "contents": '"Ostra"\nBuilt.', "score": 2}]}}
