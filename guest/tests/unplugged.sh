# A card disappears during a recording: the run ends with one line and its record is kept. The
# kernel finds the card again and mounts it, with the files that the record reports as kept.
# each: usb sd
# seconds: 300
# modules: exfat nls_utf8
# needs: fsck.exfat
block=$(device "$drive")
mib=1048576

# detach, attach: through the kernel's own driver, as if contact were lost.
case $drive in
    usb)
        host=$(readlink -f "/sys/block/${block##*/}/device" | sed -n 's|.*/\(host[0-9]*\)/.*|\1|p')
        detach() { echo 1 >"/sys/block/${block##*/}/device/delete"; }
        attach() { echo "- - -" >"/sys/class/scsi_host/$host/scan"; }
        ;;
    sd)
        card=$(readlink -f "/sys/block/${block##*/}/device")
        detach() { echo "${card##*/}" >/sys/bus/mmc/drivers/mmcblk/unbind; }
        attach() { echo "${card##*/}" >/sys/bus/mmc/drivers/mmcblk/bind; }
        ;;
esac
# Sectors written so far; empty for a drive that is gone.
sectors() { awk '{ print $7 }' "/sys/block/${block##*/}/stat"; }
written() { [ "$(sectors)" -ge "$1" ]; }

mkfifo /tmp/events
ssdyno run "$block" -m stream --destroy="$(serial "$drive")" --size 96MiB --rate 8MB/s --cluster 64KiB \
    --file 16MiB --checkpoint 2MiB --json --events --quiet >/tmp/events 2>/tmp/said &
run=$!
while read -r line; do
    echo "$line" >/tmp/last
    case $line in
        *'"event":"step"'*stream-exfat-full*)
            # Past the tables of the volume and two and a half files.
            if await 100 written $(($(sectors) + 39 * mib / 512)); then detach
            else fail "nothing was recorded"; fi ;;
    esac
done </tmp/events
wait $run
is "exit" $? 4
cat /tmp/said
is "lines said" "$(wc -l </tmp/said)" 1
values record '{method, complete, cut_short, kept: ([.warnings[] | select(.name == "recording-cut")][0])}' /tmp/last
is "its last line is the record" "$record_method $record_complete" "stream false"
pass "cut short: $record_cut_short"
pass "says: $record_kept_text"
files=$record_kept_evidence_0_value open=$record_kept_evidence_1_value
files=${files%.*} open=${open%.*}
[ "$files" -ge 1 ] && pass "whole files: $files" || fail "no whole file is kept"
id=$(jq -r .id /tmp/last)
is "the record is kept" "$(ssdyno show last --json | jq -r .id)" "$id"

attach
arrives "$drive" || fail "$drive did not come back"
block=$(device "$drive")
holds "fsck.exfat" fsck.exfat -n "$block"
holds "mounts" mount -t exfat -o ro "$block" /mnt
# full NAME BYTES: this many bytes of it were recorded; in random content, one of 256 is 0.
full() { [ "$(head -c "$2" "/mnt/$1" | tr -d '\0' | wc -c)" -gt $(($2 / 100 * 99)) ]; }
n=1
while [ $n -le "$files" ]; do
    is "size of file $n" "$(stat -c %s /mnt/CLIP000$n.MOV)" $((16 * mib))
    holds "content of file $n" full CLIP000$n.MOV $((16 * mib))
    n=$((n + 1))
done
[ "$open" = 0 ] || holds "content of the next, $open bytes" full CLIP000$n.MOV "$open"
umount /mnt
