#!/usr/bin/env bash
# Puts everything that the GPU machine needs into one folder: scripts, lessons, encoder.
# pack.sh LESSONS ENCODER CARRY
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
mkdir -p "$3/lessons" "$3/encoder"
cp "$here"/{labels,model,train}.py "$here/../../benchmarks/accuracy/meanings.py" "$3/"
cp "$1"/{made,hand,shared,options,test}.jsonl "$3/lessons/"
cp "$2"/{config.json,tokenizer.json,encoder.safetensors} "$3/encoder/"
cat > "$3/go.sh" <<'GO'
#!/usr/bin/env bash
# Runs in the carried folder; results go to $OUT (few files, none above 16 MB).
set -uo pipefail
cd "$(dirname "$0")"
export PYTHONUNBUFFERED=1 TOKENIZERS_PARALLELISM=false
python3 train.py --data lessons --encoder encoder --out /tmp/reader "$@" 2>&1 | tee /tmp/reader.log
code=$?
cp /tmp/reader.log "$OUT/log.txt"
if [ -e /tmp/reader/report.json ]; then
  cp /tmp/reader/{labels,report,wrong}.json /tmp/reader/reader.onnx.part* "$OUT/"
elif [ -e /tmp/reader/reader.pt ]; then # trained, but not exported: the weights come back in pieces
  split -b 15000000 /tmp/reader/reader.pt "$OUT/reader.pt.part"
fi
exit $code
GO
chmod +x "$3/go.sh"
tar czf "$3.tar.gz" -C "$(dirname "$3")" "$(basename "$3")"
du -sh "$3" "$3.tar.gz"
