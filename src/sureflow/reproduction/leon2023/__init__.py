"""Leon et al. 2023, ensembles for operator learning of hypersonic flows: domains, claims, printed table, presets."""
