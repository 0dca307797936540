"""Which registry serves which key of a setting, and every piece of them: no probe, and so no frame, is imported."""

from collections.abc import Mapping
from typing import Any

from lnlab.registry import Registry, import_pieces
from lnlab.training_extra import standing_in

with standing_in():
    import lnlab.corpora
    import lnlab.interventions
    import lnlab.nn
    import lnlab.optim
    import lnlab.tasks
    from lnlab.corpora.corpus import corpora
    from lnlab.corpora.labelled import labelled
    from lnlab.corpora.text import text_corpora
    from lnlab.corpora.vocabulary.tokenizers import tokenizers
    from lnlab.interventions.intervention import interventions
    from lnlab.nn.attention import attentions
    from lnlab.nn.feedforward import feed_forwards
    from lnlab.nn.inits import inits
    from lnlab.nn.linear import linears
    from lnlab.nn.models import models
    from lnlab.nn.norms import norms
    from lnlab.nn.placements import placements
    from lnlab.optim.optimizers import optimizers
    from lnlab.optim.schedules import schedules
    from lnlab.optim.stops import stops
    from lnlab.tasks.task import tasks

    import_pieces(lnlab.corpora, lnlab.tasks, lnlab.nn, lnlab.optim, lnlab.interventions)

SETTING_REGISTRIES: Mapping[str, Registry[Any]] = {
    registry.kind: registry
    for registry in (
        corpora,
        labelled,
        text_corpora,
        tokenizers,
        tasks,
        models,
        norms,
        placements,
        attentions,
        linears,
        feed_forwards,
        inits,
        optimizers,
        schedules,
        stops,
        interventions,
    )
}
