# An NVMe drive detached from the kernel on a machine without an IOMMU (--no-iommu): huge pages, and
# a guard process that outlives every end of a run and stops the controller before its memory is
# freed.
# drives: nvme:64M
# seconds: 300
address() { basename "$(readlink -f "/sys/block/${1#/dev/}/device/device")"; }
driver() { basename "$(readlink "/sys/bus/pci/devices/$1/driver")" 2>/dev/null; }
back() { await 20 present nvme && [ "$(driver $at)" = nvme ]; }
guards() { cat /proc/[0-9]*/comm 2>/dev/null | grep -c "^pci-guard$"; }
guarded() { [ "$(guards)" = 1 ]; }
unguarded() { [ "$(guards)" = 0 ]; }
# Bit 2 of the command register: the function may reach memory.
master() { [ $(($(od -An -tu1 -j4 -N1 /sys/bus/pci/devices/$at/config) & 4)) != 0 ]; }
no_master() { ! master; }
huge() { sed -n "s/^HugePages_$1: *//p" /proc/meminfo; }
block=$(device nvme)
at=$(address "$block")
word=$(serial nvme)
notes=/run/ssdyno/bound
echo "$block is pci:$at"

# Refused: nothing changes, and no note remains.
exits 3 "without --no-iommu" ssdyno io pci:$at --rw write --destroy="$word" --time 1s
says "has no IOMMU"
exits 3 "to be bound" ssdyno prepare pci:$at --bind="$word"
exits 3 "with another serial number" ssdyno io pci:$at --rw write --no-iommu --destroy=NONSENSE --time 1s
exits 4 "without huge pages" ssdyno io pci:$at --rw write --no-iommu --destroy="$word" --time 1s
says "sysctl vm.nr_hugepages"
holds "returned to the kernel" back
is "notes" "$(ls $notes)" ""
is "guards" "$(guards)" 0

# Written and verified, with memory in several huge pages; the kernel reads the same content.
echo 48 >/proc/sys/vm/nr_hugepages
free=$(huge Free)
echo "huge pages: $free"
exits 0 "writes, verified" ssdyno io pci:$at --rw write --bs 1M --depth 16 --size 32MiB --verify --seed 7 \
    --no-iommu --destroy="$word"
holds "returned to the kernel" back
is "notes" "$(ls $notes)" ""
is "guards" "$(guards)" 0
is "huge pages after it" "$(huge Free)" "$free"
exits 0 "read through the kernel" ssdyno io "$(device nvme)" --rw read --bs 64k --size 32MiB --verify --seed 7
is "the kernel's bytes and those of the image" "$(sha256sum "$(device nvme)" | cut -d' ' -f1)" "$(host hash nvme)"
exits 0 "a method, whose queues use the pages again" ssdyno run pci:$at -m quick --time 4s --no-iommu \
    --destroy="$word" --json --quiet
cp /tmp/said /tmp/record
values record . /tmp/record
is "its record" "$record_complete $record_target_drive_serial" "true $word"
exits 0 "fio writes and verifies" ssdyno fio --no-iommu --destroy="$word" --name=w --filename=pci:$at --rw=write \
    --bs=64k --iodepth=8 --size=4M --verify=crc32c
holds "returned to the kernel" back
is "huge pages after it" "$(huge Free)" "$free"

# During a run the guard exists and the controller can access memory. After a kill, the guard stops
# the controller before the pages are freed, and recover returns the drive.
mkfifo /tmp/events
during() {
    action=$1
    shift
    "$@" --no-iommu --destroy="$word" --json --events --quiet >/tmp/events 2>/tmp/said &
    run=$!
    done=
    while read -r line; do
        case $line in *'"event":"interval"'*) [ -n "$done" ] || { done=1; $action; } ;; esac
    done </tmp/events
    wait $run 2>/dev/null
}
writing="ssdyno io pci:$at --rw randwrite --bs 128k --depth 16 --time 60s"
killed() {
    holds "the guard is running" guarded
    holds "the controller can access memory" master
    kill -KILL $run
}
during killed $writing
holds "the guard ends by itself" await 10 unguarded
holds "the controller was kept from memory" no_master
is "huge pages after it" "$(huge Free)" "$free"
is "driver after a kill" "$(driver $at)" ""
exits 3 "a run before recovery" ssdyno io pci:$at --rw read --no-iommu --time 1s
says "ssdyno recover"
exits 0 "recover" ssdyno recover
says "pci:$at, serial number $word: returned to the kernel"
holds "returned to the kernel" back

interrupted() { kill -INT $run; }
during interrupted $writing
is "exit after Ctrl-C" "$?" 130
holds "returned to the kernel" back
is "guards" "$(guards)" 0

# A run does not continue without its guard.
unguard() { kill -KILL "$(grep -l "^pci-guard$" /proc/[0-9]*/comm | cut -d/ -f3)"; }
during unguard ssdyno run pci:$at -m quick --time 20s
is "exit without its guard" "$?" 3
says "its guard process has ended"
holds "returned to the kernel" back
is "huge pages after it" "$(huge Free)" "$free"
