# Methods on every kind of drive end with sane records: first with reads only, then with --destroy.
# drives: scratch
# each: nvme:64M pair:64M ssd:64M disk:64M usb:64M uas:64M sd:32M
# seconds: 600
case $drive in pair) drive=pair4k ;; esac
block=$(device "$drive")

before=$(host hash "$drive")
measured "quick" 10 --time 2s
is "quick is safe" "$run_safety" reads
is "quick changed the drive" "$(host hash "$drive")" "$before"
exits 3 "another serial number" ssdyno run "$block" --destroy=OTHER --time 2s
is "a refusal changed the drive" "$(host hash "$drive")" "$before"
measured "quick with --destroy" 20 --destroy="$(serial "$drive")" --time 2s
is "quick with --destroy" "$run_safety" destroys
measured "sustain" 4 --destroy="$(serial "$drive")" -m sustain --time 2s --size 16MiB
measured "zones" 4 --destroy="$(serial "$drive")" -m zones --time 10s
read -r discards <"/sys/block/${block##*/}/queue/discard_max_bytes"
measured "trim" $((discards > 0)) --destroy="$(serial "$drive")" -m trim --time 2s --size 16MiB
# Methods that detect internals: capacity, endurance, a restored image.
measured "fake" 4 --destroy="$(serial "$drive")" -m fake
is "the capacity is real" "$(jq -r '.verdicts[0].name' /tmp/record)" "CAPACITY REAL"
measured "wear" 6 --destroy="$(serial "$drive")" -m wear --amount 40MB --size 16MiB
is "it endures" "$(jq -r '.verdicts[0].name' /tmp/record)" ENDURED
measured "restore" 3 --destroy="$(serial "$drive")" -m restore --size 16MiB

# Overwritten with its own content, which a journal on another drive keeps during the run.
mkfs.ext4 -q "$(device scratch)"
mount -t ext4 "$(device scratch)" /mnt
sync
before=$(host hash "$drive")
measured "speed" 6 -m speed --borrow --journal /mnt/journal --time 10s
is "speed only borrows" "$run_safety" borrows
is "speed changed the drive" "$(host hash "$drive")" "$before"
is "nothing is left to recover" "$(ls /mnt/journal)" ""
umount /mnt
is "runs kept" "$(ssdyno runs --json | jq length)" 9

# Discarded blocks are gone from the image of all drives that discard, except QEMU's card, which
# overwrites them.
dd if=/dev/urandom of="$block" bs=1M count=16 conv=fsync 2>/dev/null
full=$(host blocks "$drive")
case $drive in
    usb) is "usb discards" "$discards" 0 ;;
    sd) ;;
    *)
        blkdiscard "$block"
        empty=$(host blocks "$drive")
        [ "$empty" -lt $((full - 16384)) ] && pass "discarded: $full to $empty blocks" ||
            fail "the image has $empty blocks, of $full"
        ;;
esac
