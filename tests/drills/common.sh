# Sourced by the drills: one run of lib/drill.mjs for each seed, and the sum.
drills=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export QX_LOCAL_CLUSTER=${QX_LOCAL_CLUSTER:-$drills/../../deploy/local-cluster}

# run_seeds SEEDS OPTIONS...: prints each drill's words; the last line is the sum.
run_seeds() {
    local seeds=$1 seed passed=0 failed=0 out good bad
    shift
    for seed in $seeds; do
        out=$(node "$drills/lib/drill.mjs" --seed "$seed" "$@" 2>&1) || true
        read -r good bad < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' <<<"$out" | tail -n 1) || good=0 bad=1
        grep -v ' passed, ' <<<"$out" || true
        printf 'seed %s: %d checks good, %d broken\n' "$seed" "$good" "$bad"
        passed=$((passed + good)) failed=$((failed + bad))
    done
    printf '%d passed, %d failed\n' "$passed" "$failed"
    ((failed == 0 && passed > 0))
}
