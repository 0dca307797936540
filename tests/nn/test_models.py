"""Whole models: ties, halves, stacks of different parts. Padding and future stand in test_independence."""

from dataclasses import replace

import pytest
import torch

PLACEMENTS = ["post", "pre"]


@pytest.fixture(params=PLACEMENTS)
def model(request, setting, build):
    """One model a placement, every parameter random, in float64."""
    made = build(setting(request.param)).double()
    torch.manual_seed(0)
    for p in made.parameters():
        torch.nn.init.normal_(p, std=0.3)
    return made


def test_what_padding_is_embedded_as_changes_nothing_and_the_two_halves_are_the_whole(model, batch):
    """The row of the padding token reaches no logit but its own column and those of padding positions."""
    before = model(batch)
    with torch.no_grad():
        for table in (model.encoder.embedding.table, model.decoder.embedding.table):
            table[0] += 100
    after, real = model(batch), batch.target_in != 0
    torch.testing.assert_close(after[real][:, 1:], before[real][:, 1:], rtol=1e-10, atol=1e-10)
    memory, present = model.encode(batch.source)
    assert memory.shape == (*batch.source.shape, model.encoder.embedding.table.shape[1])
    assert torch.equal(model.decode(batch.target_in, memory, present), model(batch))
    for length in (1, 4):
        last = model.decode(batch.target_in[:, :length], memory, present, last=True)
        torch.testing.assert_close(last, model(batch)[:, length - 1 : length], rtol=1e-12, atol=1e-12)


def test_the_source_reaches_every_logit_through_cross_attention_alone(setting, build, batch):
    other = replace(batch, source=batch.source.flip(0))
    with_it, without = build(setting("pre")), build(setting("pre", cross_attention=False))
    assert not torch.allclose(with_it(batch), with_it(other))
    assert torch.equal(without(batch), without(other))
    assert not [name for name, _ in without.named_parameters() if "cross" in name]


@pytest.mark.parametrize(("tied", "tables"), [("target", 2), ("all", 1), ("none", 3)])
def test_ties_share_one_table(setting, build, batch, tied, tables):
    model = build(setting(tied=tied))
    uses = (model.encoder.embedding.table, model.decoder.embedding.table, model.output.table)
    assert len({id(table) for table in uses}) == tables
    assert (uses[1] is uses[2]) == (tied != "none")
    assert model(batch).shape == (3, 6, 23)


def test_stacks_may_differ_and_stand_on_the_meta_device(setting, build, batch):
    encoder, decoder = {"layers": 3, "placement": {"kind": "pre"}}, {"norm": {"kind": "rms", "eps": 1e-6}}
    model = build(setting("post", encoder=encoder, decoder=decoder))
    assert (len(model.encoder.layers), len(model.decoder.layers)) == (3, 2)
    assert model.encoder.final_norm is not None
    assert model.decoder.final_norm is None
    assert isinstance(model.decoder.layers[0].placement.norms[0], torch.nn.RMSNorm)
    assert model(batch).isfinite().all()
    with torch.device("meta"):
        model = build(setting("pre", layers=3))
        on_meta = replace(batch, source=batch.source.to("meta"), target_in=batch.target_in.to("meta"))
        assert model(on_meta).shape == (3, 6, 23)
    assert all(p.is_meta for p in model.parameters())


def test_dropout_acts_on_embeddings_and_branches_in_training_alone(setting, build, batch):
    model = build(setting(dropout=0.5))
    assert torch.equal(model(batch), model(batch))
    model.train()
    assert not torch.equal(model(batch), model(batch))
    dropped, watched = [], [m for m in model.modules() if isinstance(m, torch.nn.Dropout)]
    for module in watched:
        module.register_forward_hook(lambda _m, x, y: dropped.append((x[0], y)))
    model(batch)
    assert len(dropped) == 1 + 2 * 2 + 1 + 2 * 3
    embedded = {0: model.encoder.embedding(batch.source), 5: model.decoder.embedding(batch.target_in)}
    assert all(torch.equal(dropped[place][0], x) for place, x in embedded.items())
    assert all((y == 0).double().mean() > 0.3 for _, y in dropped)
