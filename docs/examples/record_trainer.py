"""A tiny GPT-2 in the Trainer of transformers, two seeds at two learning rates, recorded by a callback."""

import torch
import transformers

import lnlab

words = (torch.arange(80)[:, None] + torch.arange(12)) % 20
examples = [{"input_ids": row, "labels": row} for row in words]


def loss(model: torch.nn.Module, batch: torch.Tensor) -> torch.Tensor:
    """The mean over next tokens."""
    value: torch.Tensor = model(input_ids=batch, labels=batch).loss
    return value


for rate in (1e-2, 1e-3):
    for seed in (1, 2):
        transformers.set_seed(seed)
        config = transformers.GPT2Config(vocab_size=20, n_positions=16, n_embd=16, n_layer=2, n_head=2)
        arguments = transformers.TrainingArguments(
            output_dir="out",
            max_steps=20,
            learning_rate=rate,
            logging_steps=1,
            report_to=[],
            use_cpu=True,
            save_strategy="no",
            disable_tqdm=True,
        )
        trainer = transformers.Trainer(transformers.GPT2LMHeadModel(config), arguments, train_dataset=examples[8:])
        rec = lnlab.Recorder(
            f"trainer-runs/{rate}-{seed}",
            settings={"lr": rate},
            seed=seed,
            probes=["attention_logits", "displacement"],
            batches=[words[:8]],
            loss=loss,
            every=5,
        )
        trainer.add_callback(rec.transformers())
        trainer.train()

runs = lnlab.open_runs("trainer-runs/*")
last = {"quantity": "total_displacement", "step": "last", "lr": 0.01}
claim = {"id": "farther", "kind": "ratio", "of": last, "to": {"lr": 0.001}, "at_least": 1}
runs.report([claim], out="trainer-page", title="GPT-2 in the Trainer")
