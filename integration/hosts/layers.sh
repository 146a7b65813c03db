# Mounts at $1/root a tree that is written to a layer in memory: DIR BASE.
dir=$1 base=$2
mount -t tmpfs -o mode=0755 tmpfs "$dir"
mkdir "$dir/up" "$dir/work" "$dir/root"
mount -t overlay overlay -o "lowerdir=$base,upperdir=$dir/up,workdir=$dir/work" "$dir/root"
