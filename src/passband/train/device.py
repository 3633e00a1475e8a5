"""The device that JAX computes on."""

import jax


def device_name() -> str:
    """The device in use, in words."""
    first = jax.local_devices()[0]
    return "cpu" if first.platform == "cpu" else first.device_kind
