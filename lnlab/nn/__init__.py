"""The model graph: norms, placements, attentions, inits, stacks, models, and addresses of what is in them."""
