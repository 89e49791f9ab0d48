#!/usr/bin/env bash
# Puts everything that the GPU machine needs into one folder: scripts, lessons, encoder.
# pack.sh LESSONS ENCODER CARRY
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
mkdir -p "$3/lessons" "$3/encoder"
cp "$here"/{labels,model,train}.py "$here/../../benchmarks/accuracy/meanings.py" "$3/"
cp "$1"/{made,hand,shared,options,even,test}.jsonl "$3/lessons/"
cp "$2"/{config.json,tokenizer.json,encoder.safetensors} "$3/encoder/"
du -sh "$3"
