# Random reads of an NVMe drive, alternating between the kernel's driver and target pci:. Prints
# `figure CASE WAY IOPS` for each run, which `cargo xtask bench pci` reads.
# drives: nvme:64M
# modules: vfio_pci vfio_iommu_type1
# iommu: on
# cores: 2
# needs: jq
# seconds: 1800
address() { basename "$(readlink -f "/sys/block/${1#/dev/}/device/device")"; }
at=$(address "$(device nvme)")
word=$(serial nvme)
# run CASE WAY TARGET OPTIONS...
run() {
    case=$1 way=$2
    shift 2
    ssdyno io "$@" --rw randread --time 3s --json --quiet >/tmp/said 2>/tmp/errors ||
        { fail "$case, $way"; cat /tmp/errors; return; }
    echo "figure $case $way $(jq -r '.metrics[] | select(.name == "iops").value' /tmp/said)"
}
each() {
    run 4KiB-q1 "$1" $2 --bs 4k --depth 1
    run 64KiB-q16 "$1" $2 --bs 64k --depth 16
}
# The emulated drive answers reads of unwritten blocks without any I/O.
exits 0 "filled" ssdyno io "$(device nvme)" --rw write --bs 1M --size 64MiB --destroy="$word"
for round in 1 2 3 4 5; do
    for backend in psync aio uring; do each "$backend" "$(device nvme) --backend $backend"; done
    exits 0 "bind" ssdyno prepare pci:$at --bind="$word"
    each pci pci:$at
    exits 0 "unbind" ssdyno prepare pci:$at --unbind
    holds "returned to the kernel" arrives nvme
done
