#!/bin/bash
# ssh.sh FILE NAME HOST...: play a part of the sweep FILE, which is called NAME, on each machine; fetch and merge them.
# Each machine has the file and the same Dovetail in a folder with this path. Run it again to go on after a failure.
set -euo pipefail
file=$1 name=$2 here=$(printf %q "$PWD")
shift 2
for ((k = 1; k <= $#; k++)); do
    ssh "${!k}" "cd $here && dovetail run $(printf %q "$file") --trial $k/$# --resume ${OPTIONS:-}" &
    running[k]=$!
done
failed=0
for ((k = 1; k <= $#; k++)); do
    wait "${running[k]}" || failed=$k
    mkdir -p "out/$name"
    scp -qr "${!k}:$here/out/$name/part-$k-of-$#" "out/$name/"
done
dovetail merge "out/$name" "out/$name"/part-*
exit "$((failed > 0))"
