# NVMe drives detached from the kernel (target pci:): taken only if unused and confirmed by serial
# number, measured through VFIO, returned at the end of a run, after Ctrl-C and after a kill. The
# kernel then reads what was written.
# drives: nvme:64M pair:64M
# modules: vfio_pci vfio_iommu_type1
# iommu: on
# needs: mkfs.ext4
# seconds: 600
address() { basename "$(readlink -f "/sys/block/${1#/dev/}/device/device")"; }
driver() { basename "$(readlink "/sys/bus/pci/devices/$1/driver")"; }
back() { await 20 present nvme && [ "$(driver $at)" = nvme ]; }
block=$(device nvme)
at=$(address "$block")
word=$(serial nvme)
notes=/run/ssdyno/bound
echo "$block is pci:$at"

# Refused: nothing changes, and no note remains.
mkfs.ext4 -q "$block"
mount -t ext4 "$block" /mnt
exits 3 "a mounted namespace" ssdyno io pci:$at --rw write --destroy="$word" --time 1s
says "is mounted at /mnt"
exits 3 "a mounted namespace, to be bound" ssdyno prepare pci:$at --bind="$word"
says "is mounted at /mnt"
umount /mnt
exits 3 "without a serial number" ssdyno io pci:$at --rw read --time 1s
says "prepare pci:$at --bind=SERIAL"
exits 3 "with another serial number" ssdyno io pci:$at --rw write --destroy=NONSENSE --time 1s
says "is not the serial number of pci:$at"
exits 3 "borrowed" ssdyno run pci:$at -m speed --borrow --time 1s
exits 2 "no such function" ssdyno io pci:0000:1e:1f.7 --rw read
exits 2 "not an address" ssdyno io pci:nonsense --rw read
other=$(device pair)
exits 2 "two namespaces, none named" ssdyno io pci:$(address "$other") --rw write --destroy="$(serial pair)"
says "has 2 namespaces"
mkswap "$(device pair4k)" >/dev/null && swapon "$(device pair4k)"
exits 3 "swap on the other namespace" ssdyno io pci:$(address "$other")/1 --rw write --destroy="$(serial pair)"
says "is swap"
swapoff "$(device pair4k)"
is "driver" "$(driver $at)" nvme
is "notes" "$(ls $notes 2>/dev/null)" ""

# Taken for a run, and returned; the kernel finds the content on the drive.
exits 0 "dry run" ssdyno io pci:$at --rw write --destroy="$word" --dry-run
is "driver after a dry run" "$(driver $at)" nvme
exits 0 "writes, verified" ssdyno io pci:$at --rw write --bs 64k --depth 8 --size 16MiB --verify --seed 7 \
    --destroy="$word"
holds "returned to the kernel" back
is "notes" "$(ls $notes)" ""
exits 0 "read and verified through the kernel" ssdyno io "$(device nvme)" --rw read --bs 64k --size 16MiB --verify --seed 7
exits 1 "with another seed" ssdyno io "$(device nvme)" --rw read --bs 64k --size 16MiB --verify --seed 8
is "the kernel's bytes and those of the image" "$(sha256sum "$(device nvme)" | cut -d' ' -f1)" "$(host hash nvme)"
exits 0 "written through the kernel" ssdyno io "$(device nvme)" --rw randwrite --bs 4k --depth 8 --size 4MiB --verify \
    --seed 9 --destroy="$word"
exits 0 "read and verified by pci:" ssdyno io pci:$at --rw randread --bs 4k --depth 8 --size 4MiB --verify --seed 9 \
    --destroy="$word"
holds "returned to the kernel" back

# Bound permanently; a method, reads without --destroy, fio, Ctrl-C; list shows it.
exits 0 "bind" ssdyno prepare pci:$at --bind="$word"
is "driver" "$(driver $at)" vfio-pci
exits 0 "list" ssdyno list
says "ssdyno prepare pci:$at --unbind returns it"
exits 0 "reads" ssdyno io pci:$at --rw randread --bs 4k --depth 4 --time 1s
exits 3 "writes without --destroy" ssdyno io pci:$at --rw write --time 1s
exits 0 "a method" ssdyno run pci:$at -m quick --time 4s --destroy="$word" --json --quiet
cp /tmp/said /tmp/record
exits 0 "fio reads" ssdyno fio --name=r --filename=pci:$at --rw=randread --bs=4k --iodepth=4 --size=4M
exits 3 "fio writes without --destroy" ssdyno fio --name=w --filename=pci:$at --rw=write --bs=64k --size=4M
exits 0 "fio writes and verifies" ssdyno fio --destroy="$word" --name=w --filename=pci:$at --rw=write --bs=64k \
    --iodepth=8 --size=4M --verify=crc32c
values record . /tmp/record
is "its record" "$record_complete $record_target_drive_serial" "true $word"
exits 0 "unbind" ssdyno prepare pci:$at --unbind
holds "returned to the kernel" back
exits 0 "unbind again" ssdyno prepare pci:$at --unbind

# Formatted by its own driver, for a run and while bound; the kernel finds the new block size.
blocks_of() { cat "/sys/block/$(basename "$(device nvme)")/queue/logical_block_size"; }
exits 0 "format to blocks of 4096 bytes" ssdyno prepare pci:$at --to fresh --lbaf 4096 --destroy="$word"
says "canaries read as zeroes"
holds "returned to the kernel" back
is "block size for the kernel" "$(blocks_of)" 4096
exits 0 "bind" ssdyno prepare pci:$at --bind="$word"
exits 0 "format while bound" ssdyno prepare pci:$at --to fresh --lbaf 512 --destroy="$word"
exits 0 "recognised after the format" ssdyno io pci:$at --rw write --bs 64k --size 4MiB --verify --destroy="$word"
exits 2 "no such format" ssdyno prepare pci:$at --to fresh --lbaf 1024 --destroy="$word"
says "has no format with blocks of 1024 bytes"
exits 0 "unbind" ssdyno prepare pci:$at --unbind
holds "returned to the kernel" back
is "block size for the kernel" "$(blocks_of)" 512
exits 0 "method lbaf" ssdyno run pci:$at -m lbaf --time 8s --destroy="$word" --json --quiet
cp /tmp/said /tmp/record
values lbaf '{complete, ratios: [.metrics[] | select(.name | endswith(".ratio"))] | length}' /tmp/record
is "its record" "$lbaf_complete $lbaf_ratios" "true 6"
holds "returned to the kernel" back
is "block size for the kernel" "$(blocks_of)" 512

# Ctrl-C during a run; a second one would end the process at once.
sent=
mkfifo /tmp/events
ssdyno io pci:$at --rw randwrite --time 60s --destroy="$word" --json --events --quiet >/tmp/events 2>/tmp/said &
run=$!
while read -r line; do
    case $line in *'"event":"interval"'*) [ -n "$sent" ] || kill -INT $run; sent=1 ;; esac
done </tmp/events
wait $run
is "exit after Ctrl-C" $? 130
holds "returned to the kernel" back

# After a kill, only recover returns it.
ssdyno io pci:$at --rw randwrite --time 60s --destroy="$word" --json --events --quiet >/tmp/events 2>/tmp/said &
run=$!
while read -r line; do
    case $line in *'"event":"interval"'*) kill -KILL $run ;; esac
done </tmp/events
wait $run 2>/dev/null
is "driver after a kill" "$(driver $at)" vfio-pci
exits 3 "a run before recovery" ssdyno io pci:$at --rw read --time 1s
says "ssdyno recover"
exits 0 "recover" ssdyno recover
says "pci:$at, serial number $word: returned to the kernel"
holds "returned to the kernel" back
is "notes" "$(ls $notes)" ""
exits 0 "again" ssdyno recover
says "no journals in"
