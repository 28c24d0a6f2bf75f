# The main job with a real reader, SmolLM2-135M-Instruct in vLLM: all five stages.
# Run from the repository's root; `just demo` does. MODEL is the reader's folder.
set -eu
out=${RAGPACK_DEMO:-demo}
mkdir -p "$out"

ragpack retrieve fixtures/questions.jsonl -k 5 -q -o "$out/hits.jsonl"
head -n 24 "$out/hits.jsonl" | ragpack pack -q -o "$out/packs.jsonl" \
    --policy chunk_packed,chunk_focused,chunk_submod --budget 160 --tokenizer "$MODEL"
echo "The reader answers from 72 contexts (24 questions, 3 policies, 160 of its tokens): a minute or two on two cores."
ragpack generate "$out/packs.jsonl" --model "$MODEL" --prompt answer-examples/1 --resume -o "$out/answers.jsonl"
ragpack diagnose "$out/answers.jsonl" -q -o "$out/rows.jsonl"
echo
echo "What survived, question by question:"
echo
ragpack show "$out/rows.jsonl"
ragpack stats "$out/rows.jsonl" --table policies,conditional --format table
echo "The rows are in $out/rows.jsonl: ragpack show $out/rows.jsonl --verdict dropped_by_packing --context"
