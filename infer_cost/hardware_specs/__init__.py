"""What machines are: accelerators, the systems they come in, networks, number formats, prices an hour.

Data lie in ``data/`` (TOML, one accelerator a file), are checked and turned into ``compiled/`` by
``tools/compile_hardware.py``, and read by :mod:`.catalog`, :mod:`.formats` and :mod:`.infrastructure`. A
user's own machine is read by :mod:`.user`. What a kernel reaches of these rates is in :mod:`.efficiency`.

Nothing about models, prices of API calls or serving belongs here.
"""

from __future__ import annotations

from infer_cost.hardware_specs.bundled import accelerator, system
from infer_cost.hardware_specs.catalog import hardware
from infer_cost.hardware_specs.formats import number_format
from infer_cost.hardware_specs.rates import peak_rate

__all__ = ["accelerator", "hardware", "number_format", "peak_rate", "system"]
