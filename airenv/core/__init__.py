"""What every game is built from: the jit, the generator, the engine contract, kernels, boards, the registry."""
