# The time in the drive beside that of blktrace and btt (D2C), of the same reads: within 3%.
# drives: nvme:64M scratch:64M
# needs: blktrace blkparse btt
# seconds: 300
part() { jq -r --arg key "$1" '[.metrics[] | select(.name == $key).value][0] // 0 | floor' /tmp/said; }
mkfs.ext4 -q "$(device scratch)" && mount "$(device scratch)" /mnt && cd /mnt || fail "a place for traces"
device=$(device nvme)
ssdyno io "$device" --rw write --bs 1M --time 5s --quiet --destroy="$(serial nvme)" >/dev/null || fail "filled"
for depth in 1 8; do
    rm -f trace*
    blktrace -d "$device" -o trace >/tmp/blktrace 2>&1 & tracer=$!
    await 20 test -e "/sys/kernel/debug/block/${device#/dev/}/trace0" || fail "no trace: $(cat /tmp/blktrace)"
    ssdyno io "$device" --rw randread --bs 4k --depth $depth --time 5s --json --quiet >/tmp/said || fail "io"
    kill -INT $tracer; wait $tracer
    blkparse -q -i trace -d trace.bin -O >/dev/null
    # A line of btt: D2C, least, mean, most in seconds, count.
    theirs=$(btt -i trace.bin 2>/dev/null | awk '$1 == "D2C" { printf "%d", $3 * 1e9; exit }')
    ours=$(part time-drive)
    difference=$((ours - ${theirs:-0}))
    [ -n "$theirs" ] && [ $((${difference#-} * 1000 / theirs)) -le 30 ] &&
        pass "depth $depth: in the drive $ours ns, D2C $theirs ns" ||
        fail "depth $depth: in the drive $ours ns, D2C '$theirs' ns"
done
