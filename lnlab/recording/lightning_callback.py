"""A recorder as a callback of Lightning's ``Trainer``, tried with 2.6.

Lightning runs the backward pass inside ``optimizer.step(closure)``, so gradients are read after it, in the optimizer's
hook. The state is recorded when a batch ends that made an update.
"""

from typing import TYPE_CHECKING, Any

from lightning.pytorch.callbacks import Callback

if TYPE_CHECKING:
    from lnlab.recording.recorder import Recorder


class LightningCallback(Callback):
    """Records what a Trainer does. The run is closed when training ends, as failed if it ends by an error."""

    def __init__(self, recorder: "Recorder") -> None:
        self._recorder = recorder
        self._recorded = -1

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._recorder.attach(pl_module, trainer.optimizers[0], step=trainer.global_step)
        self._recorder(pl_module)
        self._recorded = self._recorder.count

    def on_train_batch_end(  # the names are Lightning's
        self,
        trainer: Any,  # noqa: ARG002
        pl_module: Any,
        outputs: Any,
        batch: Any,  # noqa: ARG002
        batch_idx: int,  # noqa: ARG002
    ) -> None:
        if self._recorder.count > self._recorded:
            self._recorded = self._recorder.count
            loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
            self._recorder(pl_module, loss=loss)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        self._recorder.close()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:  # noqa: ARG002
        if isinstance(exception, KeyboardInterrupt):
            self._recorder.close("interrupted", "KeyboardInterrupt")
        else:
            self._recorder.close("failed", " ".join(f"{type(exception).__name__}: {exception}".split()))
