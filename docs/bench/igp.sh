# Information-gain pruning on retrieved passages with a small reader: probe, pack, answer, measure. It goes on where it was
# stopped.
#
#     sh docs/bench/igp.sh DATA MODEL WORK [N]
#
# DATA has nq/nq_test1000_dpr_ctxs.jsonl and its like; N questions of each set are drawn (150).
set -eu
data=$1 model=$2 work=$3 n=${4:-150}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$work"
cd "$work"

one=topk:m=1,igp:threshold=-1,m=1,igp:threshold=0,m=1,igp:m=1
all=topk,igp:threshold=-1,igp:threshold=-0.3,igp:threshold=-0.2,igp:threshold=-0.1,igp:threshold=0,igp,igp:threshold=0.1

for set in nq triviaqa popqa; do
    ragpack import dpr "$data/$set/${set}_test1000_dpr_ctxs.jsonl" --sample "$n" --seed 1 -o $set.hits.jsonl
    ragpack generate $set.hits.jsonl --probe ig --model "$model" -o $set.probed.jsonl --resume
    ragpack pack $set.probed.jsonl --policy $all --policy $one --budget 1500 --tokenizer "$model" -o $set.packs.jsonl
    ragpack generate $set.packs.jsonl --model "$model" --prompt answer-examples/1 --cache cache \
        -o $set.answers.jsonl --resume
    ragpack diagnose $set.answers.jsonl --profile flashrag -o $set.rows.jsonl
    for base in topk topk:m=1; do
        ragpack stats $set.rows.jsonl --table policies,contrasts --baseline $base --format jsonl -o $set.$base.stats.jsonl
    done
done
python "$here/igp.py" .
