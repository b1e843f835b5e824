"""gradsh: a shell for autograd that shows what a backward pass saved, freed and kept."""
