# The main job without a model: what survives into the context, by policy. Seconds.
# Run from the repository's root; `just demo` does.
set -eu
out=${RAGPACK_DEMO:-demo}
mkdir -p "$out"

ragpack retrieve fixtures/questions.jsonl -k 5 -q -o "$out/hits.jsonl"
ragpack pack "$out/hits.jsonl" -q -o "$out/packs-regex.jsonl" \
    --policy topk,chunk_packed,chunk_focused,chunk_mmr,chunk_submod,ragpack --budget 96,160 --tokenizer regex
ragpack diagnose "$out/packs-regex.jsonl" -q -o "$out/rows-regex.jsonl"
echo "What survives into the context, before any model has run (87 questions, 5 hits each, tokens by the regex counter):"
echo
ragpack stats "$out/rows-regex.jsonl" --table policies --format table -q
