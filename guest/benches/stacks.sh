# guest/tests/stacks.sh with 300 answers.
# drives: disk:192M scratch:64M
# modules: loop dm_mod md_mod raid1 btrfs
# needs: dmsetup mkfs.ext4 mkfs.btrfs mkswap losetup
# seconds: 14400
answers=300 seed=7
. /tests/stacks.sh
