# guest/tests/stacks.sh with 300 answers.
# drives: disk:192M nvme:96M scratch:96M
# modules: loop dm_mod md_mod raid1 btrfs dm_snapshot dm_thin_pool bcache
# needs: dmsetup lvm mkfs.ext4 mkfs.btrfs btrfs mkswap losetup sfdisk partx setpriv e2fsck make-bcache
# seconds: 14400
answers=300 seed=${seed:-$(date +%s)}
. /tests/stacks.sh
