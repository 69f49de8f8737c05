# Random reads of an NVMe drive, alternating between the kernel's driver and target pci:. Prints
# `figure CASE WAY IOPS` for each run, which `cargo xtask bench pci` reads. The kernel's ways are the
# backends of ssdyno, and fio's io_uring with and without polling (IORING_SETUP_IOPOLL on a poll
# queue of the driver, with registered files and buffers), which ssdyno does not have.
# When `pci:` reads 64 KiB, the emulated drive is busy all the time, and mostly copies data. The
# second drive transfers none, so that its figures show the work of the two drivers.
# drives: nvme:64M null:64M
# modules: vfio_pci vfio_iommu_type1
# iommu: on
# cores: 2
# aio: io_uring
# needs: fio
# seconds: 1800
address() { basename "$(readlink -f "/sys/block/${1#/dev/}/device/device")"; }
# run CASE WAY TARGET OPTIONS...
run() {
    case=$1 way=$2
    shift 2
    ssdyno io "$@" --rw randread --time 3s --json --quiet >/tmp/said 2>/tmp/errors ||
        { fail "$case, $way"; cat /tmp/errors; return; }
    echo "figure $case $way $(jq -r '.metrics[] | select(.name == "iops").value' /tmp/said)"
}
# polled CASE WAY DRIVE OPTIONS...: the same with fio.
polled() {
    case=$1 way=$2 drive=$3
    shift 3
    fio --name=r --filename="$(device $drive)" --rw=randread --direct=1 --time_based --runtime=3 --ioengine=io_uring \
        --fixedbufs --registerfiles --output-format=json "$@" >/tmp/said 2>/tmp/errors ||
        { fail "$case, $way"; cat /tmp/errors; return; }
    echo "figure $case $way $(jq -r '.jobs[0].read.iops' /tmp/said)"
}
# by_fio DRIVE WAY OPTIONS: all cases of a drive with fio.
by_fio() {
    [ $1 = null ] || polled $1-4KiB-q1 "$2" $1 --bs=4k --iodepth=1 $3
    polled $1-64KiB-q16 "$2" $1 --bs=64k --iodepth=16 --iodepth_batch_submit=16 --iodepth_batch_complete_max=16 $3
}
# each DRIVE WAY TARGET: all cases of a drive with ssdyno.
each() {
    [ $1 = null ] || run $1-4KiB-q1 "$2" $3 --bs 4k --depth 1
    run $1-64KiB-q16 "$2" $3 --bs 64k --depth 16 --batch 16
}
# A poll queue, beside the queue with interrupts.
modprobe -r nvme
holds "a driver with a poll queue" modprobe nvme poll_queues=1
for drive in nvme null; do holds "$drive is back" arrives $drive; done
# The emulated drive answers reads of unwritten blocks without any I/O.
exits 0 "filled" ssdyno io "$(device nvme)" --rw write --bs 1M --size 64MiB --destroy="$(serial nvme)"
for round in 1 2 3 4 5; do
    for drive in nvme null; do
        at=$(address "$(device $drive)")
        for backend in psync aio uring; do each $drive $backend "$(device $drive) --backend $backend"; done
        by_fio $drive fio-uring
        by_fio $drive fio-uring-polled --hipri
        exits 0 "bind" ssdyno prepare pci:$at --bind="$(serial $drive)"
        each $drive pci pci:$at
        exits 0 "unbind" ssdyno prepare pci:$at --unbind
        holds "returned to the kernel" arrives $drive
    done
done
