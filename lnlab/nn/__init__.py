"""The model graph: norms, placements, attentions, inits, stacks, models, and addresses of what is in them.

One norm, placement, initialization or model a file; ``sites`` gives every parameter its address.
"""
