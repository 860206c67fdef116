#!/usr/bin/env bash
# Power of single nodes, each with its data on a file system of its own (loop mount). Needs root.
#
#   power.sh possible           says why not, and fails, where it cannot be done
#   power.sh make DIR NODES     DIR/nodeN/data: an image mounted, in turn ext4 and XFS
#   power.sh cut DIR ID...      at once: what was not synced is gone, the processes end, another boot id
#   power.sh start DIR ID...    mounted again, started
#   power.sh remove DIR NODES   unmounted
set -euo pipefail
cluster=${QX_LOCAL_CLUSTER:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)/deploy/local-cluster}
verb=$1 dir=${2:-}
shift $(($# < 2 ? $# : 2))

new_boot() {
    cat /proc/sys/kernel/random/uuid >"$dir/node$1/boot-id"
}

mount_node() {
    mount -o loop "$dir/disk$1.img" "$dir/node$1/data"
}

# One small file system of each kind is made, mounted and shut down.
try_all() {
    local tool kind
    if ((EUID != 0)); then
        echo "needs root"
        return 1
    fi
    for tool in mkfs.ext4 mkfs.xfs xfs_io losetup; do
        if ! command -v "$tool" >/dev/null; then
            echo "there is no $tool"
            return 1
        fi
    done
    mkdir "$dir/mounted"
    for kind in ext4 xfs; do
        truncate -s 512M "$dir/disk.img"
        if ! "mkfs.$kind" -q "$dir/disk.img" >/dev/null 2>&1 ||
            ! mount -o loop "$dir/disk.img" "$dir/mounted" 2>/dev/null; then
            echo "$kind cannot be mounted from a file"
            return 1
        fi
        if ! xfs_io -x -c shutdown "$dir/mounted" 2>/dev/null; then
            echo "$kind cannot be shut down"
            return 1
        fi
        umount "$dir/mounted"
        rm "$dir/disk.img"
    done
}

case $verb in
possible)
    dir=$(mktemp -d /tmp/holdfast-power.XXXXXX)
    code=0
    try_all || code=1
    umount "$dir/mounted" 2>/dev/null || true
    rm -rf "$dir"
    exit "$code"
    ;;
make)
    for ((id = 1; id <= $1; id++)); do
        mkdir -p "$dir/node$id/data"
        truncate -s 512M "$dir/disk$id.img"
        if ((id % 2)); then mkfs.ext4 -q "$dir/disk$id.img"; else mkfs.xfs -q "$dir/disk$id.img"; fi
        mount_node "$id"
        chmod 700 "$dir/node$id/data"
        new_boot "$id"
    done
    ;;
cut)
    for id in "$@"; do xfs_io -x -c shutdown "$dir/node$id/data" & done
    wait
    for id in "$@"; do
        "$cluster" kill "$id" --dir "$dir"
        umount "$dir/node$id/data"
        new_boot "$id"
    done
    ;;
start)
    for id in "$@"; do mount_node "$id"; done
    for id in "$@"; do "$cluster" start "$id" --dir "$dir" & done
    wait
    ;;
remove)
    for ((id = 1; id <= $1; id++)); do umount "$dir/node$id/data" 2>/dev/null || true; done
    ;;
esac
