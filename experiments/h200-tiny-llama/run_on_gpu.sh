#!/bin/bash
# Training and serving on a GPU host that is rented by the minute, in steps that can be repeated:
#   run_on_gpu.sh install WHEEL_DIR...   unpack wheels into $SITE (SGLang's own and msgspec, httpx-aiohttp, uvloop)
#   run_on_gpu.sh train-background       start training, detached; its output goes to $LAB/train.out
#   run_on_gpu.sh train-wait SECONDS     wait for it and pack the checkpoints into $OUT
#   run_on_gpu.sh serve SECONDS          sweep for at most so long and pack what there is into $OUT; repeat to go on
#   run_on_gpu.sh restore DIR            unpack what earlier steps packed, on a fresh host
# $CAMPAIGN (a folder with campaign.toml) and $MODELS name another campaign than this one.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "$here/../.." && pwd)
LAB=${LAB:-/tmp/lab} SITE=${SITE:-/tmp/site} OUT=${OUT:-$LAB/packed}
CAMPAIGN=${CAMPAIGN:-$here} MODELS=${MODELS:-$LAB/tiny}
results=$LAB/$(basename "$CAMPAIGN")
mkdir -p "$LAB/tiny" "$results" "$OUT"

install() {
  mkdir -p "$SITE"
  for folder in "$@"; do
    python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade --target "$SITE" "$folder"/*.whl \
      2>&1 | grep -v WARN
    # The kernel package without its largest file, which needs a GPU build that these flags do not use.
    [ -f "$folder/sglk.tar.xz" ] && tar xJf "$folder/sglk.tar.xz" -C "$SITE"
  done
  # SGLang imports these when it loads and, with the flags in campaign.toml, never uses them.
  mkdir -p "$SITE/IPython"
  : > "$SITE/IPython/__init__.py"
  printf 'def HTML(*a, **k): pass\ndef display(*a, **k): pass\n' > "$SITE/IPython/display.py"
  for module in flashinfer flashinfer.fp4_quantization flashinfer.fused_moe flashinfer.fused_moe.core flashinfer.gemm \
    flashinfer.comm flashinfer.comm.mnnvl flashinfer.sampling flashinfer.prefill flashinfer.jit flashinfer.jit.core; do
    folder=$SITE/${module//.//}
    mkdir -p "$folder"
    printf 'import logging\nlogger = logging.getLogger("flashinfer")\n__version__ = "0.0"\ndef __getattr__(n):\n    if n.startswith("__"): raise AttributeError(n)\n    return type(n, (), {})\n' > "$folder/__init__.py"
  done
  # tracker runs from the checkout, which itself stays off the servers' path; its version must be found all the same.
  ln -sfn "$repository/tracker" "$SITE/tracker"
  mkdir -p "$SITE/tracker-0.1.0.dist-info"
  printf 'Metadata-Version: 2.1\nName: tracker\nVersion: 0.1.0\n' > "$SITE/tracker-0.1.0.dist-info/METADATA"
  echo "$(ls "$SITE" | wc -l) entries in $SITE"
}

tracker() { PYTHONPATH="$SITE" timeout -s INT -k 20 "$seconds" python3 -c 'from tracker.cli.main import main; main()' "$@"; }

train_background() {
  rm -f "$LAB/train.done"
  # One compiler thread: on a host of 32 cores a pool of them once never came back.
  setsid nohup bash -c "PYTHONUNBUFFERED=1 TORCHINDUCTOR_COMPILE_THREADS=1 python3 '$here/train.py' '$LAB/tiny' --budget-s ${TRAIN_BUDGET_S:-400} \
    > '$LAB/train.out' 2>&1; echo \$? > '$LAB/train.done'" < /dev/null > /dev/null 2>&1 &
  echo "training started"
}

pack_checkpoints() {
  cp "$LAB/train.out" "$OUT/" 2> /dev/null
  cp "$LAB/tiny/train_log.json" "$OUT/" 2> /dev/null
  (cd "$LAB" && tar c tiny | xz -T0 -2 | split -b 15m - "$OUT/checkpoints.tar.xz.")
  ls -l "$OUT"
}

train_wait() {
  local end=$((SECONDS + $1))
  while [ ! -f "$LAB/train.done" ] && [ $SECONDS -lt $end ]; do sleep 1; done
  tail -n 25 "$LAB/train.out"
  [ -f "$LAB/train.done" ] || echo "training still runs"
  pack_checkpoints
}

pack_results() {
  for log in "$results"/logs/*.log; do [ -f "$log" ] && tail -c 20000 "$log" > "$log.tail"; done
  tar czf "$OUT/$(basename "$results").tgz" -C "$LAB" --exclude='logs/*.log' "$(basename "$results")"
  ls -l "$OUT"
}

serve() {
  # The sweep plans within its budget; SIGINT a little later is the net below it, and leaves time to pack.
  seconds=$1
  tracker sweep "$CAMPAIGN" --models "$MODELS" --out "$results" --spool "$results/spool" --budget "$(($1 - 15))s" --in-order
  echo "sweep ended with $?"
  nvidia-smi --query-gpu=name,driver_version,memory.used,clocks.sm --format=csv 2> /dev/null
  pack_results
}

restore() {
  cat "$1"/checkpoints.tar.xz.* 2> /dev/null | tar xJ -C "$LAB"
  for packed in "$1"/*.tgz; do [ -f "$packed" ] && tar xzf "$packed" -C "$LAB"; done
  ls "$LAB/tiny" "$results"
}

step=${1:?step}
shift
case $step in
  install) install "$@" ;;
  train-background) train_background ;;
  train-wait) train_wait "$@" ;;
  serve) serve "$@" ;;
  plan) seconds=60; tracker sweep "$CAMPAIGN" --models "$MODELS" --plan ;;
  restore) restore "$@" ;;
  *) echo "unknown step $step" >&2; exit 2 ;;
esac
