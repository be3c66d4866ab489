"""The demo's brain: a model without a network that really looks at a Python project and writes its README."""

from onplan.demo.model import DEMO_TASK, DemoModel, demo_model

__all__ = ["DEMO_TASK", "DemoModel", "demo_model"]
