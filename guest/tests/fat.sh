# Directories on cards and sticks with FAT: scratch files without O_TMPFILE work and leave nothing.
# drives: sd:128M usb
# seconds: 200
# modules: vfat exfat nls_cp437 nls_ascii nls_utf8

# card KIND DEVICE: a run in its root, then a kill in the middle of one.
card() {
    mount -t "$1" "$2" /mnt || { fail "mount $1"; return; }
    exits 0 "run on $1" ssdyno run /mnt --size 8MiB --time 2s --json --quiet
    mv /tmp/said /tmp/record
    is "$1 in the record" "$(jq -r '"\(.target.filesystem.kind) \(.complete) \(.errors | length)"' /tmp/record)" "$1 true 0"
    is "left on $1" "$(ls -A /mnt)" ""
    ssdyno run /mnt --size 8MiB --time 60s --json --events --quiet >/tmp/events 2>/dev/null & run=$!
    await 30 grep -q interval /tmp/events || fail "no interval"
    kill -9 $run; wait $run 2>/dev/null
    exits 0 "run after a kill" ssdyno run /mnt --size 8MiB --time 2s --quiet
    is "left on $1 after a kill" "$(ls -A /mnt)" ""
    umount /mnt
}
mkfs.vfat -F 32 "$(device sd)" >/dev/null 2>&1
card vfat "$(device sd)"
holds "vfat is sound" fsck.vfat -n "$(device sd)"
mkfs.exfat "$(device usb)" >/dev/null 2>&1
card exfat "$(device usb)"
holds "exfat is sound" fsck.exfat -n "$(device usb)"
