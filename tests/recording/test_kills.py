"""``kill -9`` at random moments of recording: at most one record is lost, the files read, the resumed run goes on."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

import lnlab

SERVER = """
import mmap, os, sys
import torch
import torch._dynamo  # which every optimizer imports, for two seconds: once for all forks
from torch import nn
import lnlab
from lnlab.recording.recorder import Recorder
from lnlab import files
from lnlab.recorded import folder as run_folder

files.sync = lambda *_: None  # a kill leaves what was written; waiting for a disk makes this slow
torch.set_num_threads(1)
path, progress = sys.argv[1:]
run_folder.PART_BYTES = 4000  # so that many kills fall into the making of a part

def record_on(start):
    shared = mmap.mmap(os.open(progress, os.O_RDWR), 8)
    torch.manual_seed(1)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=1e-3)
    rec = Recorder(path, settings={"lr": 1e-3}, seed=1, hooks_every=1)
    rec.attach(model, opt, step=start)
    while True:
        loss = model(torch.ones(2, 4)).square().mean()
        loss.backward()
        opt.step()
        opt.zero_grad()
        rec(model, loss=loss)
        shared[:] = rec.count.to_bytes(8, "little")

print("ready", flush=True)
for line in sys.stdin:
    pid = os.fork()  # nothing has run in this process that a fork would break
    if pid == 0:
        record_on(int(line))
    print(pid, flush=True)
    os.waitpid(pid, 0)
    print("dead", flush=True)
"""


@pytest.mark.nightly
@pytest.mark.parametrize("kills", [20, 100])
def test_a_record_at_most_is_lost_to_each_kill(tmp_path, kills):
    path, progress = tmp_path / "run", tmp_path / "progress"
    progress.write_bytes(bytes(8))
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(path), str(progress)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )

    def returned():
        """The last step whose record has returned."""
        return int.from_bytes(progress.read_bytes(), "little")

    moments = random.Random(0)
    last = lost = 0
    with server:
        assert server.stdout.readline() == "ready\n"
        for _ in range(kills):
            progress.write_bytes(last.to_bytes(8, "little"))
            server.stdin.write(f"{last}\n")
            server.stdin.flush()
            pid = int(server.stdout.readline())
            deadline = time.monotonic() + 30
            while returned() == last and time.monotonic() < deadline:
                time.sleep(0.001)  # until the first record of this process
            time.sleep(moments.uniform(0, 0.03))
            os.kill(pid, signal.SIGKILL)
            assert server.stdout.readline() == "dead\n"
            reached = returned()
            assert reached > last
            runs = lnlab.open_runs(path, ended=True)
            for quantity, rows in (("loss", 1), ("step_gradient_norm", 2), ("update_to_weight", 2)):
                steps = runs.frame(quantity)["step"].to_list()
                written = max(steps)
                assert sorted(steps) == [step for step in range(1, written + 1) for _ in range(rows)], quantity
                lost = max(lost, reached - written)
            last = max(runs.frame("loss")["step"])
        server.stdin.close()
    assert lost <= 1
    assert len(list(path.glob("part-*.parquet"))) > 5
    assert lnlab.open_runs(path).results.runs["status"].to_list() == ["interrupted"]
