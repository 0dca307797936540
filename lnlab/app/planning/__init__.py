"""What can be said of a spec before it runs: whether it is right, what there is to do, and how long that takes."""
