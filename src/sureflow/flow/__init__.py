"""The flow solver: steady, laminar, axisymmetric Navier-Stokes around blunt bodies."""
