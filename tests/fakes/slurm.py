"""Slurm's four commands for one machine, as far as submitit uses them: jobs are process groups of this machine.

`install(folder)` writes sbatch, srun, sacct and scancel; FAKE_SLURM names the folder that keeps the jobs' states.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

COMMANDS = ("sbatch", "srun", "sacct", "scancel")


def install(folder: Path) -> Path:
    """Write the commands into `folder` and return it, to be put first on PATH."""
    folder.mkdir(parents=True)
    for name in COMMANDS:
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {sys.executable} {__file__} {name} "$@"\n')
        script.chmod(0o755)
    return folder


def sbatch(jobs: Path, words: list[str]) -> int:
    script = words[-1]
    supervisor = subprocess.Popen(
        [sys.executable, __file__, "run", script], start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    (jobs / f"{supervisor.pid}.state").write_text("PENDING")
    sys.stdout.write(f"Submitted batch job {supervisor.pid}\n")
    return 0


def run(jobs: Path, words: list[str]) -> int:
    number = os.getpid()
    time.sleep(float(os.environ.get("FAKE_SLURM_QUEUE_S", "0")))
    (jobs / f"{number}.state").write_text("RUNNING")
    names = {"JOB_ID": str(number), "PROCID": "0", "LOCALID": "0", "NODEID": "0", "NTASKS": "1", "JOB_NUM_NODES": "1",
             "JOB_NODELIST": socket.gethostname()}  # fmt: skip
    environment = {**os.environ, **{f"SLURM_{key}": value for key, value in names.items()}}
    code = subprocess.call(["bash", words[0]], env=environment)
    (jobs / f"{number}.state").write_text("COMPLETED" if code == 0 else "FAILED")
    return code


def srun(jobs: Path, words: list[str]) -> int:
    program = next(index for index, word in enumerate(words) if "python" in word)
    return subprocess.call(words[program:])


def sacct(jobs: Path, words: list[str]) -> int:
    sys.stdout.write("JobID|State|NodeList\n")
    for index, word in enumerate(words):
        path = jobs / f"{words[index + 1]}.state" if word == "-j" else None
        if path is not None and path.exists():
            sys.stdout.write(f"{path.stem}|{path.read_text()}|{socket.gethostname()}\n")
    return 0


def scancel(jobs: Path, words: list[str]) -> int:
    (jobs / f"{words[0]}.state").write_text("CANCELLED")
    with (jobs / "cancelled").open("a") as log:
        log.write(f"{words[0]}\n")
    with contextlib.suppress(ProcessLookupError):
        os.killpg(int(words[0]), signal.SIGKILL)
    return 0


if __name__ == "__main__":
    found = {"sbatch": sbatch, "run": run, "srun": srun, "sacct": sacct, "scancel": scancel}[sys.argv[1]]
    sys.exit(found(Path(os.environ["FAKE_SLURM"]), sys.argv[2:]))
