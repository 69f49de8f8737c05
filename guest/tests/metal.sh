# Linux reads the drive that the bare-metal program wrote (cargo xtask bare), on x86-64 and on a
# Cortex-A53: the mark at its start, and everything else as in the image. Skipped without the image.
# each: bare-x86_64:64M bare-aarch64:64M
# seconds: 120
block=$(device "$drive")
echo "$block is the drive of $drive"
# 16 pieces of 4 KiB, as computed by bare/src/check.rs for round 7.
mark=8c5ed82e9c578db1d0294272547fd715b77d157b24400ebf13b4ea4b5e0f8997
is "the mark" "$(dd if="$block" bs=64k count=1 2>/dev/null | sha256sum | cut -d' ' -f1)" $mark
# The workloads of the program filled the first 32 MiB.
zeros=$(dd if="$block" bs=1M skip=1 count=31 2>/dev/null | tr -d '\000' | wc -c)
holds "the rest is written: $zeros bytes are not zero" [ "$zeros" -gt 1000000 ]
is "the kernel's bytes and those of the image" "$(sha256sum "$block" | cut -d' ' -f1)" "$(host hash "$drive")"
