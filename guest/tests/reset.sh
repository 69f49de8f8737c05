# The whole machine is reset while `speed` overwrites borrowed blocks. After the next start,
# `recover` restores every byte from a journal on another drive.
# drives: nvme:64M scratch:256M
# seconds: 300
block=$(device nvme)
if [ "$boot" = 1 ]; then
    dd if=/dev/urandom of="$block" bs=1M count=64 conv=fsync 2>/dev/null
    mkfs.ext4 -q "$(device scratch)"
    mount -t ext4 "$(device scratch)" /mnt
    host hash nvme >/mnt/before
    sync
    mkfifo /tmp/events
    ssdyno run "$block" -m speed --borrow --journal /mnt --time 20s --size 32MiB \
        --json --events --quiet >/tmp/events 2>/tmp/said &
    # Already written once: this is the second round of writes.
    while read -r line; do
        case $line in *'"name":"speed-write","replicate":1'*)
            pass "the guest is reset at: $line"
            host reset ;;
        esac
    done </tmp/events
    fail "speed ended too early"
    cat /tmp/said
    exit 1
fi
mount -t ext4 "$(device scratch)" /mnt
read -r before </mnt/before
[ -n "$(find /mnt -name '*.journal')" ] && pass "journals are left" || fail "no journal is left"
# Adds a write that was cut off in the middle to whatever the reset left.
dd if=/dev/zero of="$block" bs=4096 seek=100 count=3 conv=fsync,notrunc 2>/dev/null
[ "$(host hash nvme)" != "$before" ] && pass "the drive is damaged" || fail "the drive is not damaged"
exits 1 "recover without --replay" ssdyno recover --journal /mnt
cat /tmp/said
exits 0 "recover --replay" ssdyno recover --replay --journal /mnt
cat /tmp/said
is "every byte as before" "$(host hash nvme)" "$before"
exits 0 "recover, nothing left" ssdyno recover --journal /mnt
umount /mnt
