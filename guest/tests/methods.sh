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
measured "zones" 4 --destroy="$(serial "$drive")" -m zones --time 3s
read -r discards <"/sys/block/${block##*/}/queue/discard_max_bytes"
measured "trim" $((discards > 0)) --destroy="$(serial "$drive")" -m trim --time 2s --size 16MiB
# Methods that detect internals: capacity, endurance, a restored image.
measured "fake" 4 --destroy="$(serial "$drive")" -m fake
is "the capacity is real" "$(jq -r '.verdicts[0].name' /tmp/record)" "CAPACITY REAL"
measured "wear" 6 --destroy="$(serial "$drive")" -m wear --amount 40MB --size 16MiB
is "it endures" "$(jq -r '.verdicts[0].name' /tmp/record)" ENDURED
measured "restore" 3 --destroy="$(serial "$drive")" -m restore --size 16MiB

# The other methods that detect internals, on one drive of each protocol: each ends with an answer, or
# reports that the drive does not show it. Those whose result hardly depends on the protocol run on
# one or two drives, because emulated time is expensive.
runs=9
answered() {
    local name=$1 metrics=$2; shift 2
    runs=$((runs + 1))
    measured "$name" "$metrics" --destroy="$(serial "$drive")" -m "$name" --size 16MiB "$@"
    values answer '{headline: (.answer.headline // ""), verdict: (.verdicts[0].name // "none")}' /tmp/record
    [ -n "$answer_headline" ] && pass "$name says: $answer_headline" || fail "$name has no answer"
}
case $drive in nvme | ssd | usb | sd)
    answered geometry 8
    case $answer_verdict in
        GEOMETRY | UNDETERMINED) pass "geometry concludes: $answer_verdict" ;;
        *) fail "geometry concludes: $answer_verdict" ;;
    esac
    answered power 3 --time 1s
    case $answer_verdict in
        "POWER STATE" | "NO POWER STATE" | UNDETERMINED) pass "power concludes: $answer_verdict" ;;
        *) fail "power concludes: $answer_verdict" ;;
    esac
    ;;
esac
case $drive in
    nvme) answered curve 3 --time 1s ;;
    ssd) answered iometer 1 --time 1s ;;
    usb) answered authentic 10 --time 2s ;;
    sd) answered sdclass 4 --time 1s ;;
esac

# Overwritten with its own content, which a journal on another drive keeps during the run.
mkfs.ext4 -q "$(device scratch)"
mount -t ext4 "$(device scratch)" /mnt
sync
before=$(host hash "$drive")
measured "speed" 6 -m speed --borrow --journal /mnt/journal --time 4s
is "speed only borrows" "$run_safety" borrows
is "speed changed the drive" "$(host hash "$drive")" "$before"
is "nothing is left to recover" "$(ls /mnt/journal)" ""
umount /mnt
is "runs kept" "$(ssdyno runs --json | jq length)" "$runs"

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
