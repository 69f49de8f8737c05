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
read -r discards <"/sys/block/${block##*/}/queue/discard_max_bytes"
runs=3

# A run of a method that overwrites, and its verdict.
verdict_of() {
    local name=$1 metrics=$2; shift 2
    runs=$((runs + 1))
    measured "$name" "$metrics" --destroy="$(serial "$drive")" -m "$name" "$@"
    values answer '{headline: (.answer.headline // ""), verdict: (.verdicts[0].name // "none")}' /tmp/record
}
# A method that looks inside: it ends with an answer, or reports that the drive does not show it.
answered() {
    verdict_of "$@" --size 16MiB
    [ -n "$answer_headline" ] && pass "$1 says: $answer_headline" || fail "$1 has no answer"
}
concludes() {
    local name=$1; shift
    case " $* " in
        *" $answer_verdict "*) pass "$name concludes: $answer_verdict" ;;
        *) fail "$name concludes: $answer_verdict" ;;
    esac
}
geometry() { answered geometry 8; concludes geometry GEOMETRY UNDETERMINED; }
power() { answered power 3 --time 1s; concludes power "POWER STATE" "NO POWER STATE" UNDETERMINED; }
fake() { verdict_of fake 4; concludes fake "CAPACITY REAL"; }
wear() { verdict_of wear 6 --amount 40MB --size 16MiB; concludes wear ENDURED; }
sustain() { verdict_of sustain 4 --time 2s --size 16MiB; }
zones() { verdict_of zones 4 --time 3s; }
restore() { verdict_of restore 3 --size 16MiB; }
trim() { verdict_of trim $((discards > 0)) --time 2s --size 16MiB; }

# What the methods do hardly depends on the protocol below them, and emulated time is expensive:
# every method runs on two kinds of drive that differ in discards, blocks or speed, and every kind of
# drive runs some.
case $drive in
    nvme) sustain; fake; geometry; power; answered curve 3 --time 1s ;;
    pair4k) wear; trim ;;
    ssd) trim; restore; geometry; answered iometer 1 --time 1s ;;
    disk) zones; wear ;;
    usb) trim; fake; power; answered authentic 10 --time 2s ;;
    uas) zones; restore ;;
    sd) sustain; fake; answered sdclass 4 --time 1s ;;
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
