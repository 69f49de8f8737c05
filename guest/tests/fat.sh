# Directories on a card and a stick with FAT, which has no O_TMPFILE, and on btrfs: `quick` and
# `sustain` in a scratch file leave nothing, also after a kill in the middle.
# drives: sd:128M usb scratch:256M
# seconds: 300
# modules: vfat exfat nls_cp437 nls_ascii nls_utf8 btrfs

# sustains KIND: `sustain` in a file answers, and never for the whole drive.
sustains() {
    exits 0 "sustain on $1" ssdyno run /mnt -m sustain --size 24MiB --time 5s --json --quiet
    answer=$(jq -r .answer.headline /tmp/said)
    case $answer in
        '' | *throughout* | *'drive is full'*) fail "sustain on $1: $answer" ;;
        *) pass "sustain on $1: $answer" ;;
    esac
    is "left by sustain on $1" "$(ls -A /mnt)" ""
}
# card KIND DEVICE: runs in its root, then a kill in the middle of one.
card() {
    mount -t "$1" "$2" /mnt || { fail "mount $1"; return; }
    exits 0 "run on $1" ssdyno run /mnt --size 8MiB --time 2s --json --quiet
    mv /tmp/said /tmp/record
    is "$1 in the record" "$(jq -r '"\(.target.filesystem.kind) \(.complete) \(.errors | length)"' /tmp/record)" "$1 true 0"
    is "left on $1" "$(ls -A /mnt)" ""
    sustains "$1"
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
if command -v mkfs.btrfs >/dev/null; then
    mkfs.btrfs -q "$(device scratch)"
    mount -t btrfs "$(device scratch)" /mnt
    sustains btrfs
    umount /mnt
    holds "btrfs is sound" btrfs check "$(device scratch)"
else
    skip "btrfs: this machine has no mkfs.btrfs"
fi
