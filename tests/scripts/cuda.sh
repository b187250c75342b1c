#!/usr/bin/env bash
# If there is a GPU, and CUDA cannot be used, scripts/demo and scripts/test print the missing parts
# and how to get them, and stop before they install or build anything. $1 is the folder scripts/.
. "$(dirname "$0")/../tool/common.bash"
scripts=$heddle
unset CUDACXX CUDA_PATH CUDA_HOME CUDAARCHS

# A machine: its files are in $dir/root, its programs in $dir/programs.
mkdir tools programs
ln -s /usr/local/bin/* /usr/bin/* /bin/* tools 2>/dev/null || true
rm -f tools/nvcc tools/nvidia-smi
export PATH=$dir/programs:$dir/tools HEDDLE_TEST_ROOT=$dir/root
# finds every header, and fast
printf "#!/bin/sh\ncat >/dev/null; echo '#define __GNUC__ 99'; echo '#define __GNUC_MINOR__ 1'\n" \
    >programs/c++
printf "#!/bin/sh\necho cmake version 99.1.0\n" >programs/cmake
chmod +x programs/c++ programs/cmake

# pci ADDRESS VENDOR CLASS: adds a device to the machine.
pci() {
    mkdir -p "root/sys/bus/pci/devices/$1"
    echo "$2" >"root/sys/bus/pci/devices/$1/vendor"
    echo "$3" >"root/sys/bus/pci/devices/$1/class"
}
# program NAME LINE...: adds a program to the machine.
program() {
    local file=$1
    shift
    mkdir -p "$(dirname "$file")"
    printf '%s\n' '#!/bin/sh' "$@" >"$file"
    chmod +x "$file"
}
# nvcc VERSION ARCHITECTURE...
nvcc() {
    local version=$1
    shift
    program programs/nvcc 'case $1 in' \
        "--version) echo 'Cuda compilation tools, release $version, V$version.48' ;;" \
        "--list-gpu-arch) printf 'compute_%s\\n' $* ;;" esac
}
# driver VERSION NAME CAPABILITY...: a driver, and its GPUs.
driver() {
    local version=$1
    shift
    program programs/nvidia-smi 'case $* in' "*driver_version*) echo $version ;;" \
        "*compute_cap*) printf '%s, %s\\n' $(printf "'%s' " "$@") ;;" esac
}
newest() { nvcc 13.0 75 80 86 89 90 100 120; }

# ends_well NAME [ARGUMENT...]: both scripts list the packages, and find no problem.
ends_well() {
    local name=$1 script
    shift
    for script in demo test; do
        heddle=$scripts/$script run --no-install "$@"
        same "$name: $script: status" "$status" 0
        same "$name: $script: message" "$err" ""
        same "$name: $script: lines" "$(wc -l <<<"$out")" 1
        contains "$name: $script: output" "$out" "install"
    done
}
# stops NAME PART...: both scripts fail, and the message has all parts. With --cpu, they do not.
stops() {
    local name=$1 script part
    shift
    for script in demo test; do
        heddle=$scripts/$script run --no-install
        same "$name: $script: status" "$status" 1
        for part in "$script: this machine has a GPU" "--cpu" "$@"; do
            contains "$name: $script: message" "$err" "$part"
        done
        heddle=$scripts/$script run   # installs and builds nothing
        same "$name: $script builds: status" "$status" 1
        same "$name: $script builds: output" "$out" ""
    done
    ends_well "$name, --cpu" --cpu
}

mkdir root
ends_well "no GPU, no toolkit"
pci 0000:00:02.0 0x8086 0x030000
pci 0000:00:03.0 0x10de 0x040300   # a GPU's audio device
newest
ends_well "no GPU, and a toolkit"
rm programs/nvcc

pci 0000:01:00.0 0x10de 0x030200
stops "nothing" "(0000:01:00.0)" "there is no driver: nvidia-smi was not found" \
    "driver 570 or newer" "there is no CUDA toolkit: nvcc was not found" "CUDA 12.4 or newer"
newest
stops "no driver" "there is no driver"
if [[ $err == *toolkit* ]]; then fail "no driver: names the toolkit"; fi

program programs/nvidia-smi 'echo "NVIDIA-SMI has failed: no communication"' 'exit 9'
stops "a driver that does not work" "the driver does not work" "no communication"
driver 570.86.15 "NVIDIA H100" 9.0
stops "an old driver" "the driver is too old: this is 570.86.15, and 580 or newer"
driver 580.95.05 "NVIDIA H100" 9.0
ends_well "a GPU, its driver, and a toolkit"

nvcc 12.4 50 80 90
driver 570.86.15 "NVIDIA H100" 9.0
ends_well "the oldest toolkit and driver"
driver 580.95.05 "NVIDIA H100" 9.0
nvcc 12.3 50 80 90
stops "an old toolkit" "too old: $dir/programs/nvcc is CUDA 12.3, and 12.4 or newer is needed"
program programs/nvcc 'exit 1'
stops "an nvcc that does not work" "\`nvcc --version\` prints no version"
rm programs/nvcc
stops "no toolkit" "there is no CUDA toolkit"
newest
mkdir -p root/usr/local/cuda/bin elsewhere/bin
mv programs/nvcc root/usr/local/cuda/bin
ends_well "a toolkit in /usr/local/cuda"
mv root/usr/local/cuda/bin/nvcc elsewhere/bin
stops "a toolkit that is not found" "set CUDA_PATH"
CUDA_PATH=$dir/elsewhere ends_well "CUDA_PATH"
CUDACXX=$dir/elsewhere/bin/nvcc ends_well "CUDACXX"

newest
driver 580.95.05 "Tesla V100" 7.0 "NVIDIA H100" 9.0
stops "an old GPU" "the GPU Tesla V100 is too old: its compute capability is 70, and 80 or newer"
CUDAARCHS=90 ends_well "an old GPU beside another"
driver 590.1 "NVIDIA next" 14.0
stops "a GPU that nvcc does not know" "this CUDA is too old for the GPU NVIDIA next" "120 is the"
CUDAARCHS="80-real;90" ends_well "PTX of 90 on a newer GPU"
export CUDAARCHS=90-real
stops "code for another GPU" 'code for the architectures "90-real" does not run here' \
    "NVIDIA next (compute capability 140)"
unset CUDAARCHS

# The device file of a GPU in a container, which hides PCI devices and has no nvidia-smi.
rm -r root programs/nvidia-smi
mkdir -p root/dev root/proc/driver/nvidia
touch root/dev/nvidia0
stops "a device file" "this machine has a GPU, but" "there is no driver"
echo 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23' \
    >root/proc/driver/nvidia/version
ends_well "a kernel module"
echo 'NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build' \
    >root/proc/driver/nvidia/version
stops "an old kernel module" "this is 550.54.15"

# An argument chooses whether to use CUDA.
heddle=$scripts/test run --no-install -DHEDDLE_CUDA=OFF
same "-DHEDDLE_CUDA=OFF" "$status" 0

# The names in the last line, and a program that finds no device.
in_scripts() { (. "$scripts/setup" && . "$scripts/cuda" && "$@"); }
program programs/heddle 'cat <<END' 'device  name         memory' 'cuda:0  NVIDIA H200  140 GiB' \
    'cuda:1  NVIDIA H200  140 GiB' 'cpu:0   Xeon         2 GiB' '' 'access  cuda:0  cuda:1' \
    'cuda:0  -       peer' 'cuda:1  peer    -' END
same "names" "$(in_scripts heddle_gpu_names heddle)" "cuda:0 (NVIDIA H200), cuda:1 (NVIDIA H200)"
heddle=in_scripts run heddle_check_devices heddle
same "devices: status" "$status" 0
program programs/heddle "echo 'no CUDA devices: the reason'"
same "no names" "$(in_scripts heddle_gpu_names heddle)" ""
heddle=in_scripts run heddle_check_devices heddle
same "no devices: status" "$status" 1
contains "no devices: message" "$err" "CUDA finds no device: the reason"

# The list of missing packages.
rm -r root
mkdir root
rm -f tools/ninja tools/ninja-build tools/apt-get
program programs/apt-get 'echo apt-get is called >&2; exit 1'
for script in demo test; do
    heddle=$scripts/$script run --no-install
    same "no ninja: $script: status" "$status" 0
    contains "no ninja: $script" "$out" "would install by apt-get:"
    contains "no ninja: $script" "$out" "ninja-build"
    same "no ninja: $script: message" "$err" ""
done
