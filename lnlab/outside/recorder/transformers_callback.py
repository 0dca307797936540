"""A recorder as a callback of ``transformers.Trainer``, tried with 5.23.

The Trainer clips, makes the update, sets the gradients to None and counts: so gradients are read in the optimizer's
hook, and the state is recorded when the step ends. Its log has the gradient's norm before clipping.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback

if TYPE_CHECKING:
    from lnlab.outside.recorder.recorder import Recorder

_SPEEDS = ("runtime", "samples_per_second", "steps_per_second", "model_preparation_time")


class TransformersCallback(TrainerCallback):
    """Records what a Trainer does. The run is closed when training ends."""

    def __init__(self, recorder: "Recorder") -> None:
        self._recorder = recorder

    def on_train_begin(self, args: Any, state: Any, control: Any, **parts: Any) -> None:  # noqa: ARG002 - named by the Trainer
        self._recorder.attach(parts["model"], parts["optimizer"], step=state.global_step)
        self._recorder(parts["model"])

    def on_step_end(self, args: Any, state: Any, control: Any, **parts: Any) -> None:  # noqa: ARG002 - named by the Trainer
        self._recorder(parts["model"])

    def on_log(self, args: Any, state: Any, control: Any, **parts: Any) -> None:  # noqa: ARG002 - named by the Trainer
        if self._recorder.count >= 0 and not self._recorder.closed:
            logs: Mapping[str, Any] = parts["logs"]
            # The loss, the norm before clipping, and what evaluations say but for their speed.
            numbers = {"loss": logs.get("loss"), "global_gradient_norm": logs.get("grad_norm")}
            numbers |= {
                k: v for k, v in logs.items() if k.startswith("eval_") and k.removeprefix("eval_") not in _SPEEDS
            }
            scalars: dict[str, Any] = {name: value for name, value in numbers.items() if isinstance(value, int | float)}
            self._recorder(parts["model"], **scalars)

    def on_train_end(self, args: Any, state: Any, control: Any, **parts: Any) -> None:  # noqa: ARG002 - named by the Trainer
        self._recorder.close()
