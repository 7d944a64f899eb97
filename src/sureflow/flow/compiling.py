"""How the programs of the solver are compiled."""

from functools import partial

import jax

# On processors, XLA's newer emitters of fused loops take longer to compile these programs, for code that is slower by a quarter
# or more: `python benchmarks/solver.py` shows both.
compiled = partial(jax.jit, compiler_options={"xla_cpu_use_fusion_emitters": False})
