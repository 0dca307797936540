"""The model graph: norms, placements, attentions, inits, stacks, models, and addresses of what is in them.

Each norm, placement, initialization and model has its own file. ``sites`` gives every parameter its address.
"""
