"""A container for runc, made by hand: the capabilities, masked paths and refused system calls of Docker's defaults.

Docker's profile lists what is allowed. Here stands what that leaves out and a program could call: without CAP_SYS_ADMIN it answers EPERM to
new namespaces and mounts, and ENOSYS to clone3, whose flags a filter cannot see.
"""
import json
import os
import pathlib
import subprocess

CAPABILITIES = [f"CAP_{name}" for name in (
    "CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL "
    "AUDIT_WRITE").split()]
REFUSED = (
    "acct add_key bpf clock_settime delete_module fanotify_init finit_module fsconfig fsmount fsopen fspick get_mempolicy "
    "init_module io_uring_enter io_uring_register io_uring_setup ioperm iopl kcmp kexec_file_load kexec_load keyctl "
    "lookup_dcookie mbind migrate_pages mount mount_setattr move_mount move_pages open_by_handle_at open_tree perf_event_open "
    "pidfd_getfd pivot_root process_madvise quotactl quotactl_fd reboot request_key set_mempolicy set_mempolicy_home_node "
    "setdomainname sethostname setns settimeofday swapoff swapon syslog umount2 unshare userfaultfd vhangup").split()
NAMESPACE_FLAGS = 0x7E020000
MASKED = ["/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
          "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware"]
READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]


def seccomp():
    flags = [{"index": 0, "value": 1 << bit, "valueTwo": 1 << bit, "op": "SCMP_CMP_MASKED_EQ"} for bit in range(32)
             if NAMESPACE_FLAGS >> bit & 1]
    calls = [{"names": REFUSED, "action": "SCMP_ACT_ERRNO", "errnoRet": 1},
             {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38}]
    calls += [{"names": ["clone"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1, "args": [flag]} for flag in flags]
    return {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": calls}


def bind(source, target, read_only=True):
    return {"destination": str(target), "source": str(source), "type": "bind",
            "options": ["rbind", "ro" if read_only else "rw"]}


def tmpfs(target, mode):
    return {"destination": target, "source": "tmpfs", "type": "tmpfs", "options": ["nosuid", f"mode={mode}"]}


def make(folder, uid, binds, words, environment, network=None):
    """Writes the bundle into the folder. `binds`: (source, target, read_only). `network`: the file of a network namespace; None: one of its own."""
    root = pathlib.Path(folder) / "rootfs"
    root.mkdir(parents=True)
    # A container's /etc is its own, and other suites change this machine's. What one of them removes meanwhile may be missing.
    subprocess.run(["cp", "-a", "/etc", root], stderr=subprocess.DEVNULL, check=False)
    mounts = [
        {"destination": "/proc", "source": "proc", "type": "proc"},
        tmpfs("/dev", 755), tmpfs("/tmp", 1777), tmpfs("/run", 755), tmpfs("/var", 755), tmpfs("/home", 755),
        {"destination": "/dev/pts", "source": "devpts", "type": "devpts",
         "options": ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"]},
        tmpfs("/dev/shm", 1777), tmpfs("/var/tmp", 1777),
        {"destination": "/dev/mqueue", "source": "mqueue", "type": "mqueue"},
        {"destination": "/sys", "source": "sysfs", "type": "sysfs", "options": ["ro"]},
        bind("/usr", "/usr"),
    ]
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        if os.path.islink(f"/{name}"):
            (root / name).symlink_to(os.readlink(f"/{name}"))
        elif os.path.isdir(f"/{name}"):
            mounts.append(bind(f"/{name}", f"/{name}"))
    mounts += [bind(*entry) for entry in binds]
    held = {kind: CAPABILITIES for kind in ("bounding", "permitted", "effective")} if uid == 0 else \
        {"bounding": CAPABILITIES}
    namespaces = [{"type": kind} for kind in ("pid", "ipc", "uts", "mount")] + [{"type": "network", **({"path": str(network)} if network else {})}]
    config = {
        "ociVersion": "1.0.2",
        "process": {"user": {"uid": uid, "gid": uid}, "args": [str(word) for word in words], "cwd": "/",
                    "env": [f"{name}={value}" for name, value in environment.items()], "capabilities": held,
                    "noNewPrivileges": False},
        "root": {"path": "rootfs", "readonly": False},
        "hostname": "container",
        "mounts": mounts,
        "linux": {"namespaces": namespaces,
                  "seccomp": seccomp(), "maskedPaths": MASKED, "readonlyPaths": READ_ONLY},
    }
    (pathlib.Path(folder) / "config.json").write_text(json.dumps(config, indent=1))
