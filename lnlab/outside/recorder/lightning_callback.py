"""A recorder as a callback of Lightning's ``Trainer``, tried with 2.6.

Lightning runs the backward pass inside ``optimizer.step(closure)``, so gradients are read after it, in the optimizer's
hook. The loss of a batch is handed on as ``training_step`` returned it: Lightning divides it by the batches of an
update.
"""

from typing import TYPE_CHECKING, Any

from lightning.pytorch.callbacks import Callback

if TYPE_CHECKING:
    from lnlab.outside.recorder.recorder import Recorder


class LightningCallback(Callback):
    """Records what a Trainer does. The run is closed when training ends, as failed if it ends by an error."""

    def __init__(self, recorder: "Recorder") -> None:
        self._recorder = recorder

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        # Lightning counts the steps of all optimizers.
        self._recorder.attach(pl_module, trainer.optimizers, step=trainer.global_step // len(trainer.optimizers))
        self._recorder(pl_module)

    def on_train_batch_end(  # the names are Lightning's
        self,
        trainer: Any,
        pl_module: Any,
        outputs: Any,
        batch: Any,  # noqa: ARG002
        batch_idx: int,  # noqa: ARG002
    ) -> None:
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        if loss is not None and pl_module.automatic_optimization:
            loss = loss * trainer.accumulate_grad_batches
        self._recorder(pl_module, loss=loss)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        self._recorder.close()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:  # noqa: ARG002
        if isinstance(exception, KeyboardInterrupt):
            self._recorder.close("interrupted", "KeyboardInterrupt")
        else:
            self._recorder.close("failed", " ".join(f"{type(exception).__name__}: {exception}".split()))
