"""Slurm on one machine: munged, slurmctld and slurmd, started as an ordinary user, with ports and folders of their own. For the suite slurm, and bench-fleet."""
import contextlib
import os
import pathlib
import signal
import socket
import subprocess

import scratch
from scratch import PATIENCE, free_ports, until

LONG = 30 * PATIENCE  # Slurm starts a few tasks a second on a busy machine

SETTINGS = """ClusterName=bawn
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
KillWait=5
SlurmdParameters=config_overrides
SchedulerParameters=sched_min_interval=0
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 RealMemory=4000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Cluster:
    """Slurm on this machine, as this user; or, started by root, as the user of `options` for subprocess."""

    def __init__(self, place, options=None):
        scratch.need("sbatch", "slurmctld", "slurmd", "munged")
        self.place, self.folder, self.options = place, place.folder("cluster"), options or {}
        self.folder.chmod(0o755)
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        (self.folder / "munge.key").write_bytes(os.urandom(1024))
        (self.folder / "munge.key").chmod(0o400)
        self.ports = free_ports(2)
        self.host = host = socket.gethostname().split(".")[0]
        (self.folder / "slurm.conf").write_text(
            SETTINGS.format(host=host, user=place.environment["USER"], folder=self.folder, ports=self.ports))
        for path in [self.folder, *self.folder.rglob("*")] if self.options else ():
            os.chown(path, self.options["user"], self.options["group"])
        place.environment["SLURM_CONF"] = str(self.folder / "slurm.conf")
        self.daemons = {}
        paths = [f"--{name}-file={self.folder}/munge.{name}" for name in ("key", "log", "pid", "seed")]
        self.start("munged", "-F", "--force", f"--socket={self.folder}/munge.socket", *paths)
        until((self.folder / "munge.socket").exists, "munged listens")
        self.start("slurmctld", "-D")
        self.start("slurmd", "-D")
        until(lambda: "idle" in self.ask("sinfo"), "the node is ready", LONG)

    def start(self, name, *words):
        with open(self.folder / f"{name}.out", "ab") as log:
            self.daemons[name] = subprocess.Popen([name, *words], env=self.place.environment, stdin=subprocess.DEVNULL,
                                                  stdout=log, stderr=log, start_new_session=True, **self.options)

    def ask(self, *words):
        return subprocess.run(words, env=self.place.environment, capture_output=True, text=True, check=False,
                              timeout=LONG, **self.options).stdout

    def control(self, *words):
        done = subprocess.run(["scontrol", *words], env=self.place.environment, check=False, capture_output=True, text=True, timeout=LONG)
        assert done.returncode == 0, (words, done.stdout, done.stderr)

    @staticmethod
    def parent(process):
        return int(pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])

    def kill(self, name, number=signal.SIGKILL):
        self.daemons[name].send_signal(number)
        self.daemons[name].wait(timeout=LONG)

    def stop(self):
        subprocess.run(["scancel", "--user", self.place.environment["USER"]], env=self.place.environment, check=False,
                       capture_output=True, timeout=LONG, **self.options)
        with contextlib.suppress(AssertionError):
            until(lambda: not self.ask("squeue", "--noheader").strip(), "no job is left", PATIENCE)
        for name in ("slurmd", "slurmctld", "munged"):
            if name in self.daemons:
                self.daemons[name].kill()
                self.daemons[name].wait()
