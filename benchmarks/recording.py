"""What recording costs beside a hook written by hand and ``wandb.watch``, in per cent of a training step.

Where wandb is not installed its hooks are re-created: a hook on each parameter takes the finite values, their least and
largest and a histogram of 64 bins, and keeps it in memory, where wandb writes it to its files as well.

A GPT of four layers, width 128, 867,072 parameters, on 16 rows of 64 tokens, one thread, on the CPU. Blocks of steps
alternate between a bare loop and each way of recording; the CPU time of a block over that of the bare block beside it
is one number, and the median of the rounds is printed with its 95 % interval (order statistics), and that of the bare
loop against itself, which is the noise.

    python benchmarks/recording.py [rounds] [steps a block]
"""

import importlib.util
import os
import sys
import tempfile
from pathlib import Path
from time import process_time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import torch
from scipy.stats import binom
from torch import nn
from torch.nn import functional

import lnlab

ROWS, LENGTH, WORDS, WIDTH, LAYERS = 16, 64, 258, 128, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.qkv, self.proj = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.ln_2, self.fc, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (4, -1)).transpose(1, 2) for t in self.qkv(self.ln_1(x)).chunk(3, -1))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).flatten(2))
        return x + self.out(functional.gelu(self.fc(self.ln_2(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.positions = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks, self.norm = nn.ModuleList(Block() for _ in range(LAYERS)), nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens):
        x = self.table(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def loop(setup):
    """A training loop with what ``setup`` adds to it: ``(model, optimizer) -> after``, called after each update."""
    torch.manual_seed(0)
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    after = setup(model, optimizer)
    batch = torch.randint(WORDS, (ROWS, LENGTH + 1))

    def run(steps):
        began = process_time()
        for _ in range(steps):
            logits = model(batch[:, :-1])
            loss = functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
            loss.backward()
            optimizer.step()
            after(loss)
            optimizer.zero_grad()
        return process_time() - began

    return run


def nothing(model, optimizer):
    return lambda loss: None


def by_hand(model, optimizer):
    """The norm of each gradient and the loss, each step, one number at a time."""
    kept = []

    def after(loss):
        kept.append([loss.item(), *(p.grad.norm().item() for p in model.parameters())])

    return after


def recorded(folder, every, hooks=("gradients", "updates")):
    def setup(model, optimizer):
        rec = lnlab.Recorder(Path(folder) / f"{every}-{len(hooks)}", seed=1, hooks=hooks, hooks_every=every)
        rec.attach(model, optimizer)
        calls = iter(range(10**9))

        def after(loss):
            if next(calls) % every == 0:
                rec(model, loss=loss)

        return after

    return setup


def watched(every):
    def setup(model, optimizer):
        import wandb

        run = wandb.init(mode="offline", dir=tempfile.mkdtemp(), reinit="create_new")
        run.watch(model, log="gradients", log_freq=every)
        calls = iter(range(10**9))

        def after(loss):
            if next(calls) % every == 0:
                run.log({"loss": loss.item()})

        return after

    return setup


def watched_as_wandb_does(every):
    def setup(model, optimizer):
        history, seen = [], dict.fromkeys(dict(model.named_parameters()), 0)

        def hook_of(name):
            def hook(grad):
                seen[name] += 1
                if seen[name] < every:
                    return
                seen[name] = 0
                flat = grad.detach().reshape(-1)
                finite = torch.isfinite(flat)
                if not finite.all():
                    flat = flat[finite]
                low, high = flat.min().item(), flat.max().item()
                counts = flat.histc(bins=64, min=low, max=high).cpu().clone()
                edges = torch.linspace(low, high, steps=65)
                history.append((name, counts.tolist(), edges.tolist()))

            return hook

        for name, parameter in model.named_parameters():
            parameter.register_hook(hook_of(name))
        calls = iter(range(10**9))

        def after(loss):
            if next(calls) % every == 0:
                history.append(loss.item())

        return after

    return setup


def interval(values):
    """The median and its 95 % interval by order statistics."""
    values = sorted(values)
    low = int(binom.ppf(0.025, len(values), 0.5))
    return values[len(values) // 2], values[max(low - 1, 0)], values[min(len(values) - low, len(values) - 1)]


def main(rounds=20, steps=10):
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        ways = {
            "bare against bare": nothing,
            "hook by hand, every step": by_hand,
            "Recorder, every step": recorded(folder, 1),
            "Recorder, gradients alone, every step": recorded(folder, 1, ("gradients",)),
            "Recorder with activations, every step": recorded(folder, 1, ("gradients", "updates", "activations")),
            "Recorder, every 10 steps": recorded(folder, 10),
        }
        if importlib.util.find_spec("wandb") is None:
            print("wandb is not installed: its hooks are re-created, and nothing of them is written")
            ways |= {"hooks of wandb.watch, every step": watched_as_wandb_does(1)}
            ways |= {"hooks of wandb.watch, every 10 steps": watched_as_wandb_does(10)}
        else:
            ways |= {"wandb.watch, every step": watched(1), "wandb.watch, every 10 steps": watched(10)}
        bare = loop(nothing)
        loops = {name: loop(setup) for name, setup in ways.items()}
        for run in (bare, *loops.values()):
            run(2)
        shares = {name: [] for name in loops}
        for _ in range(rounds):
            for name, run in loops.items():
                shares[name].append(100 * (run(steps) / bare(steps) - 1))
        print(f"{sum(p.numel() for p in GPT().parameters()):,} parameters, {rounds} rounds of {steps} steps")
        for name, values in shares.items():
            middle, low, high = interval(values)
            print(f"{name:<40} {middle:6.1f} % [{low:.1f}, {high:.1f}]")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
