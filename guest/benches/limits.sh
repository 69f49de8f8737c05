# A volume that QEMU limits, as providers do: RATE LIMIT names the limit within 5%, and its burst within
# 10% or a part of it. With SSDYNO_SEED, 30 settings of operations, bytes or both are drawn.
# drives: scratch
# seconds: 3000
draw() { seed=$(((seed * 1103515245 + 12345) % 2147483648)); drawn=$((seed / 65536 % $1)); }
# near WHAT SAID TRUTH PERCENT
near() {
    if [ -n "$2" ] && [ $((($2 - $3) * 100)) -le $(($3 * $4)) ] && [ $((($3 - $2) * 100)) -le $(($3 * $4)) ]; then
        pass "$1: $2, set $3"
    else
        fail "$1: '$2', set $3"
    fi
}
# judge UNIT LIMIT BURST: the verdict that counts in this unit.
judge() {
    local said
    said=$(jq -r --arg unit "$1" '[.verdicts[] | select(.name == "RATE LIMIT" and .evidence[0].unit == $unit).evidence
        | (.[0].value | floor), (.[1].value | floor), (.[1].name | startswith("at least"))] | join(" ")' /tmp/said)
    set -- "$1" "$2" "$3" $said
    near "limit in $1" "$4" "$2" 5
    if [ "$6" = true ]; then [ "$5" -le $(($3 * 11 / 10)) ] && pass "burst: at least $5, set $3" || fail "burst: at least $5, set $3"
    else near burst "$5" "$3" 10; fi
}
# not_set UNIT: no verdict counts in a unit that has no limit.
not_set() {
    if jq -e --arg unit "$1" '[.verdicts[] | select(.name == "RATE LIMIT" and .evidence[0].unit == $unit)] == []' \
        /tmp/said >/dev/null
    then pass "no limit in $1"
    else fail "a limit in $1 is not set"; fi
}
if [ -n "$seed" ]; then count=30; else count=2 seed=46; fi
device=$(device scratch)
for nth in $(seq $count); do
    draw 3; kind=$drawn; words=
    # A burst is a tenth of a second, unless it has a size of its own.
    if [ $kind != 1 ]; then
        draw 700; iops=$((100 + drawn)); ops_burst=$((iops / 10)); words="iops=$iops"
        draw 2; if [ $drawn = 1 ]; then draw 20; ops_burst=$((iops * (10 + drawn) / 10)); words="$words iops_max=$ops_burst"; fi
    fi
    if [ $kind != 0 ]; then
        draw 30; bps=$(((4 + drawn) * 1000000)); bytes_burst=$((bps / 10)); words="$words bps=$bps"
        draw 2; if [ $drawn = 1 ]; then draw 20; bytes_burst=$((bps / 10 * (10 + drawn))); words="$words bps_max=$bytes_burst"; fi
    fi
    host limit scratch $words >/dev/null || fail "set $words"
    ssdyno run "$device" --time 30s --seed "$nth" --json --quiet >/tmp/said 2>/tmp/errors || { fail "run"; cat /tmp/errors; }
    echo "$nth: $words: $(jq -r '[.verdicts[].name] | join(", ")' /tmp/said)"
    if [ $kind = 1 ]; then not_set IOPS; else judge IOPS "$iops" "$ops_burst"; fi
    # Operations may hold large blocks back before bytes do.
    if [ $kind = 0 ]; then not_set B/s
    elif [ $kind = 1 ] || [ $bps -le $((iops * 1048576)) ]; then judge B/s "$bps" "$bytes_burst"; fi
done
